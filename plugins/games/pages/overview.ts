import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/auth.ts'
import {
  Button,
  Card,
  CodeBlock,
  CopyValue,
  Cover,
  Facts,
  html,
  renderPage,
  Section,
  Split,
  Stats,
  type View,
  When,
} from '../../../core/pages.ts'
import type { Routes } from '../../../core/routes.ts'
import type { LoadedColumn } from '../dashboard.ts'
import { redirectUriOf } from '../games.ts'
import { isReady, pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { dashboardHeader } from './dashboard.ts'
import { SESSION, SIGN_IN } from './integrate.ts'
import { cellOf } from './mine.ts'

const own = {
  config: { auth: 'session', page: true },
  constraints: { origin: 'portal' },
  schema: { params: Type.Object({ slug: Type.String({ maxLength: 63 }) }) },
} as const

/** The first tab of a game's dashboard, and the one about sign-in. */
export const overviewPages: Routes = async (app) => {
  app.get('/games/:slug/overview', own, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.games.mustOwn(playerId, request.params.slug)
    const columns = await app.games.dashboard.loadColumns([game])
    return renderPage(reply, { title: game.title, user: viewer, body: overview(app, game, columns) })
  })

  app.get('/games/:slug/sign-in', own, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.games.mustOwn(playerId, request.params.slug)
    const { totals } = await app.games.analytics(playerId, game.id, {})
    return renderPage(reply, {
      title: `Sign-in of ${game.title}`,
      user: viewer,
      body: signIn(app, game, totals.signIns),
    })
  })
}

function overview(app: FastifyInstance, game: Game, columns: LoadedColumn[]): View {
  const texts = columns.filter(({ align }) => align === 'start')
  return html`
    ${dashboardHeader(app, game, `${pathOf(game)}/overview`)}
    <${Split} aside=${nextStep(game)}>
      <div data-events=${`/live${pathOf(game)}`} data-part=${NUMBERS}>${numbersOf(game, columns)}</div>
      <${Card}>
        <div class="glance"><${Cover} ...${game} /><${Facts} items=${[
          { term: 'Address', detail: html`<${CopyValue} value=${game.url} label="address" />` },
          ...texts.map((column) => ({ term: column.label, detail: cellOf(column, game.id) })),
          { term: 'Made', detail: html`<${When} at=${game.createdAt} />` },
          { term: 'Played', detail: `${number.format(game.stats.plays)} times` },
        ]} /></div>
      <//>
    <//>`
}

/** The part that a stream keeps fresh (live.ts). */
export const NUMBERS = 'numbers'

/** What is counted of a game, side by side. */
export const numbersOf = (game: Game, columns: LoadedColumn[]): View => html`
  <${Stats} items=${columns
    .filter(({ align }) => align !== 'start')
    .map(({ label, live = false, cells }) => {
      const value = cells.get(game.id) as string | number | undefined
      return { label, value: value ?? 0, live: live && Boolean(value) }
    })} />`

const number = new Intl.NumberFormat('en')

/** The one thing to do next: what a game lacks most. */
function nextStep(game: Game): View {
  const path = pathOf(game)
  if (!game.playable)
    return step(
      'Off the air',
      'Nobody can play it now. Its settings put it back.',
      `${path}/settings`,
      'Open the settings',
    )
  if (!isReady(game))
    return html`<${Card} title="Next: publish a build" description="Zip the folder with your index.html, or deploy from a terminal.">
      <${CodeBlock} code=${`gameyard deploy dist --game ${game.slug}`} />
      <${Button} kind="act" href=${`${path}/deploys`}>Upload a zip<//>
    <//>`
  if (!game.coverUrl)
    return step(
      'Next: give it a face',
      'A picture on its card is what people click.',
      `${path}/settings#media`,
      'Add a picture',
    )
  if (game.visibility === 'private' && game.invitedIds.length === 0)
    return step(
      'Next: invite somebody',
      'It is private: whoever opens your link may play it.',
      `${path}/settings#invitations`,
      'Make a link',
    )
  if (game.stats.signIns === 0)
    return html`<${Card} title="Next: let players sign in" description=${game.hosted ? 'Sign-in is there already. Ask who is playing:' : 'The adapter signs players in on your own server.'}>
      <${CodeBlock} code=${SESSION} />
      <${Button} kind="act" href=${`${path}/integrate`}>How it works<//>
    <//>`
  return step(
    'Next: see how it goes',
    'Plays, players and sign-ins, day by day.',
    `${path}/analytics`,
    'Open the analytics',
  )
}

const step = (title: string, text: string, href: string, label: string): View => html`
  <${Card} title=${title} description=${text}><${Button} kind="act" href=${href}>${label}<//><//>`

const signIn = (app: FastifyInstance, game: Game, recent: number): View => html`
  ${dashboardHeader(app, game, `${pathOf(game)}/sign-in`)}
  <div class="stack"><${Stats} items=${[
    { label: 'sign-ins in all', value: game.stats.signIns },
    { label: 'in 30 days', value: recent },
    { label: 'sign-in button', value: game.settings.authWidget === 'on' ? 'on' : 'off' },
  ]} /></div>
  <${Section} layout="side" title="Who is playing" description="Players sign in with their account here, without a form of yours. Key saved games on the id.">
    <${CodeBlock} title="In the game" code=${SESSION} />
    <${CodeBlock} title="A button of your own" code=${SIGN_IN} />
    <div class="row"><${Button} kind=${game.settings.authWidget === 'on' ? undefined : 'act'} href=${`${pathOf(game)}/settings#serving`}>${game.settings.authWidget === 'on' ? 'Turn the ready-made button off' : 'Use the ready-made button'}<//></div>
  <//>
  <${Section} layout="side" title="OAuth application" description="What a server of your own needs. The secret is made under Integrate.">
    <${Card}><${Facts} items=${[
      { term: 'Client id', detail: html`<${CopyValue} value=${game.clientId} label="client id" />` },
      { term: 'Redirect URI', detail: html`<${CopyValue} value=${redirectUriOf(game.url)} label="redirect URI" />` },
    ]} /><//>
  <//>`
