import { Button, Form, html, Row, type View } from '../../../core/pages/index.ts'
import type { OAuthClient } from '../apps/client.ts'
import type { Player } from '../players/schemas.ts'
import { SCOPES } from './scopes.ts'

interface ConsentPageProps {
  client: OAuthClient
  redirectUri: string
  scope: string[]
  player: Player
  /** The query of the authorization request, which the form submits again. */
  request: string
  /** The address for a sign-in with another account. */
  signInAgain: string
}

/** Asks the player for consent. It also shows the client's address, since anyone may choose any name. */
export const ConsentPage = ({
  client,
  redirectUri,
  scope,
  player,
  request,
  signInAgain,
}: ConsentPageProps): View => html`
  <div class="stack">
    <header class="page-header">
      <h1>${client.name} wants to know who you are</h1>
      <p class="lede">You are signed in as <strong>${player.name}</strong>. <a href=${signInAgain}>Not you?</a></p>
    </header>
    <div class="card">
      <div class="card-head"><h2 class="h3">It will get</h2></div>
      <dl class="facts">
        ${scope.map(
          (name) => html`<div>
            <dt>${SCOPES[name]?.title}</dt>
            <dd>${(name === 'email' && player.email) || (name === 'profile' && player.name) || SCOPES[name]?.description}</dd>
          </div>`,
        )}
        <div><dt>Sends you to</dt><dd class="mono">${new URL(redirectUri).host}</dd></div>
      </dl>
    </div>
    <${Form} action="/oauth/consent">
      <input type="hidden" name="request" value=${request} />
      <${Row}>
        <${Button} kind="act" name="decision" value="allow">Allow<//>
        <${Button} name="decision" value="deny">Deny<//>
      <//>
    <//>
    <p class="hint">Your password stays here. Next time you won't be asked again.</p>
  </div>`

/** Returns the scopes as words in a sentence. */
export const scopeWords = (scope: string[]): string =>
  Object.entries(SCOPES)
    .filter(([name]) => scope.includes(name))
    .map(([, { title }]) => title.toLowerCase())
    .join('; ')
