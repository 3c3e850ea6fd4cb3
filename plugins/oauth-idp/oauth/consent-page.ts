import { Button, Form, html, Notice, Row, type View } from '../../../core/pages/index.ts'
import type { OAuthClient } from '../apps/client.ts'
import type { Player } from '../players/schemas.ts'
import type { ProtectedResource } from './resources.ts'
import { SCOPES } from './scopes.ts'

interface ConsentPageProps {
  client: OAuthClient
  redirectUri: string
  scope: string[]
  /** The protected resource; null for the API of games. */
  resource: ProtectedResource | null
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
  resource,
  player,
  request,
  signInAgain,
}: ConsentPageProps): View => html`
  <div class="stack">
    <header class="page-header">
      <h1>${client.name} wants to ${resource ? `use ${resource.name} for you` : 'know who you are'}</h1>
      <p class="lede">You are signed in as <strong>${player.name}</strong>. <a href=${signInAgain}>Not you?</a></p>
    </header>
    ${client.registration && html`<${Notice} tone="warn" title="Did you start this?">${originOf(client)}<//>`}
    <div class="card">
      <div class="card-head"><h2 class="h3">${resource ? 'It will be able to' : 'It will get'}</h2></div>
      <dl class="facts">
        ${scope.map((name) => Scope({ name, resource, player }))}
        <div><dt>Sends you to</dt><dd class="mono">${placeOf(redirectUri)}</dd></div>
      </dl>
    </div>
    <${Form} action="/oauth/consent">
      <input type="hidden" name="request" value=${request} />
      <${Row}>
        <${Button} kind="act" name="decision" value="allow">Allow<//>
        <${Button} name="decision" value="deny">Deny<//>
      <//>
    <//>
    <p class="hint">${
      resource
        ? 'Your password stays here. It acts for you until you disconnect it in your settings.'
        : "Your password stays here. Next time you won't be asked again."
    }</p>
  </div>`

function Scope({ name, resource, player }: { name: string } & Pick<ConsentPageProps, 'resource' | 'player'>): View {
  const text = resource ? resource.scopes[name] : SCOPES[name]
  const own = !resource && ((name === 'email' && player.email) || (name === 'profile' && player.name))
  return html`<div><dt>${text?.title}</dt><dd>${own || text?.description}</dd></div>`
}

/** What is known of a client that registered itself. */
const originOf = ({ registration, metadataUrl }: OAuthClient): View | string =>
  registration === 'metadata' && metadataUrl
    ? html`It belongs to <strong class="mono">${new URL(metadataUrl).host}</strong>. Allow it only if you have just connected a program of theirs.`
    : 'It chose its name itself, so it may be another program. Allow it only if you have just connected it.'

/** The place to which the browser goes. */
function placeOf(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  if (protocol !== 'https:' && protocol !== 'http:') return `a program on your computer (${protocol.slice(0, -1)})`
  const isHere = hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname)
  return isHere ? `${host}, a program on your computer` : host
}

/** Returns the scopes as words in a sentence. */
export const scopeWords = (scope: string[]): string =>
  Object.entries(SCOPES)
    .filter(([name]) => scope.includes(name))
    .map(([, { title }]) => title.toLowerCase())
    .join('; ')
