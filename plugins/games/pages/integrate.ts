import type { FastifyInstance } from 'fastify'
import {
  Button,
  CodeBlock,
  Confirm,
  CopyValue,
  DescriptionList,
  html,
  Notice,
  Section,
  type View,
} from '../../../core/pages/index.ts'
import { redirectUriOf } from '../../oauth-idp/index.ts'
import { frameOf } from '../embed/frame.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { dashboardHeader } from './dashboard.ts'

export const SESSION = `const me = await fetch('/auth/service/session').then((answer) => answer.json())
if (me.signedIn) console.log('hello', me.user.name)`

export const SIGN_IN = `<a href="/auth/service/start?returnTo=/">Sign in</a>
<form action="/auth/service/logout" method="post"><button>Sign out</button></form>`

const ROOM = `import { join } from '/__service/multiplayer.js'

const me = await fetch('/auth/service/session').then((answer) => answer.json())
if (me.signedIn) await play()

async function play() {
  const room = await join('lobby')
  room.on('message', (type, data, from) => console.log(from.name, type, data))
  room.send('move', { x: 3, y: 4 })
}`

/**
 * Renders code for sign-in and rooms, ready to copy.
 *
 * @param appId that of its OAuth application
 * @param newSecret shown once, immediately after its creation; only the owner creates one
 */
export function integrate(
  app: Pick<FastifyInstance, 'games' | 'origins'>,
  game: Game,
  { isOwner, appId, newSecret = null }: { isOwner: boolean; appId: string | undefined; newSecret?: string | null },
): View {
  const { portal } = app.origins
  const facts = [
    { term: 'Client id', detail: html`<${CopyValue} value=${game.clientId} label="client id" />` },
    { term: 'Redirect URI', detail: html`<${CopyValue} value=${redirectUriOf(game.url)} label="redirect URI" />` },
    {
      term: 'Authorize',
      detail: html`<${CopyValue} value=${`${portal}/oauth/authorize`} label="authorization endpoint" />`,
    },
    { term: 'Token', detail: html`<${CopyValue} value=${`${portal}/api/oauth/token`} label="token endpoint" />` },
    { term: 'User', detail: html`<${CopyValue} value=${`${portal}/api/oauth/userinfo`} label="userinfo endpoint" />` },
  ]
  return html`
    ${dashboardHeader(app, game, `${pathOf(game)}/integrate`)}
    ${
      newSecret &&
      html`<${Section} title="The new secret"><${Notice} tone="warn" title="Copy it now; it is not shown again. The old one has ended.">
        <${CopyValue} value=${newSecret} label="client secret" />
      <//><//>`
    }
    <${Section} title="Players" description="Sign-in works already, at the game's own origin. Read the session when the game starts. The code on this page is for ES modules: load yours with <script type=\"module\">.">
      <${CodeBlock} title="In the game" code=${SESSION} />
      <${CodeBlock} title="A button of your own" code=${SIGN_IN} />
    <//>
    ${
      game.settings.multiplayer.enabled &&
      html`<${Section} title="Rooms" description="Players who join the same room get each other's messages. A room script checks them first, on the platform.">
        <${CodeBlock} title="In the game, with rooms" code=${ROOM} />
      <//>`
    }
 ${app.games.dashboard.integrations
   .toSorted((a, b) => a.order - b.order)
   .map(
     ({ title, description, code, guide }) => html`
          <${Section} title=${title} description=${html`${description} <a href=${`/docs/${guide}`}>Guide</a>`}>
            ${code !== null && html`<${CodeBlock} title="In the game" code=${code} />`}
          <//>`,
   )}
    <${Section} title="Engines" description=${html`Unity, Godot, and Rust or C in WebAssembly have <a href="/docs/engines">scripts of their own</a> for sign-in, rooms, saves and scores.`} />
    ${elsewhere(app, game)}
    <${Section} title="For a coding assistant" description="These instructions contain no secret.">
      <${CodeBlock} title="Prompt" code=${app.games.integrationPrompt(game)} />
    <//>
    ${app.games.dashboard.integrateSections.map((section) => section(game))}
    <${Section} title="OAuth" description="For games with a server of their own."
      action=${isOwner && appId && html`<${Button} href=${`/settings/applications/${appId}`}>Redirect URIs and more<//>`}>
      <${DescriptionList} items=${facts} />
      ${
        isOwner &&
        html`<${Confirm} label="Create a new client secret" action=${`${pathOf(game)}/integrate/secret`}>
        <p>The old secret and all sign-ins through it end at once. A hosted game does not use the secret.</p>
      <//>`
      }
    <//>`
}

/** How the maker's own website shows the game. */
const elsewhere = (app: Pick<FastifyInstance, 'games'>, game: Game): View | null => {
  if (!game.hosted) return null
  if (game.isolated)
    return html`<${Section} title="On another website" description="This game is cross-origin isolated, so it runs at its own address and on its page here. Link to one of them." />`
  const description = app.games.isShown(game)
    ? 'For your own website. Where a website knows oEmbed, the address of the game’s page is enough. Players sign in in a window of their own.'
    : 'For your own website, once the game is public.'
  return html`<${Section} title="On another website" description=${description}><${CodeBlock} title="HTML" code=${frameOf(game).html} /><//>`
}
