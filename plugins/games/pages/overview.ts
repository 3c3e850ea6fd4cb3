import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { APPEAL_LENGTH } from '../../../core/data/staff/suspensions.ts'
import { callerOf } from '../../../core/http/auth.ts'
import { bodyWithText } from '../../../core/http/limits/body-limits.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Button,
  Card,
  CodeBlock,
  type Content,
  CopyValue,
  Cover,
  DescriptionList,
  Field,
  Form,
  html,
  renderPage,
  Section,
  Split,
  Stats,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { redirectUriOf } from '../../oauth-idp/index.ts'
import type { LoadedColumn } from '../dashboard.ts'
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

/** The first tab of a game's dashboard, and the tab on sign-in. */
export const overviewPages: Routes = async (app) => {
  const Query = Type.Object({ joined: Type.Optional(Type.String()) })
  const shown = { ...own, schema: { ...own.schema, querystring: Query } }
  app.get('/games/:slug/overview', shown, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.games.mustMake(playerId, request.params.slug)
    const columns = await app.games.dashboard.loadColumns([game])
    return renderPage(reply, {
      title: `Overview of ${game.title}`,
      user: viewer,
      flash: 'joined' in request.query ? { message: joined(game) } : null,
      body: overview(app, game, { columns, isOwner: app.games.may(playerId, game, 'own') }),
    })
  })

  app.post(
    '/games/:slug/appeal',
    {
      ...own,
      // Ownership is checked before the body is read. Another player's game counts as not found.
      onRequest: async (request) => {
        await app.games.mustOwn(callerOf(request).playerId, (request.params as { slug: string }).slug)
      },
      bodyLimit: bodyWithText(APPEAL_LENGTH),
      schema: { ...own.schema, body: Type.Object({ text: Type.String({ maxLength: 4096 }) }) },
    },
    async (request, reply) => {
      const { slug } = request.params
      if (request.body.text.trim()) {
        await app.games.suspensions.appeal(callerOf(request).playerId, slug, request.body.text)
      }
      return reply.redirect(`${pathOf({ slug })}/overview`, 303)
    },
  )

  app.get('/games/:slug/sign-in', own, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.games.mustMake(playerId, request.params.slug)
    const { totals } = await app.games.analytics(playerId, game.id, {})
    return renderPage(reply, {
      title: `Sign-in of ${game.title}`,
      user: viewer,
      body: signIn(app, game, totals.signIns),
    })
  })
}

/** The message for a new maker. */
const joined = (game: Game): Content =>
  html`You make this game now. <a href=${`${pathOf(game)}/deploys`}>Publish a build</a> to change what people play.`

function overview(
  app: FastifyInstance,
  game: Game,
  { columns, isOwner }: { columns: LoadedColumn[]; isOwner: boolean },
): View {
  const texts = columns.filter(({ align }) => align === 'start')
  return html`
    ${dashboardHeader(app, game, `${pathOf(game)}/overview`)}
    <${Split} aside=${!game.suspended && nextStep(game)}>
      ${game.suspended && suspensionOf(game, game.suspended, isOwner)}
      ${game.approval && approvalOf(game.approval)}
      <div data-events=${`/live${pathOf(game)}`} data-part=${NUMBERS}>${numbersOf(game, columns)}</div>
      <${Card}>
        <div class="glance"><${Cover} ...${game} /><${DescriptionList} items=${[
          { term: 'Address', detail: html`<${CopyValue} value=${game.url} label="address" />` },
          ...texts.map((column) => ({ term: column.label, detail: cellOf(column, game.id) })),
          { term: 'Created', detail: html`<${Timestamp} at=${game.createdAt} />` },
          { term: 'Played', detail: game.stats.plays === 1 ? 'once' : `${number.format(game.stats.plays)} times` },
        ]} /></div>
      <//>
    <//>`
}

/** The name of the element that a stream updates (live.ts). */
export const NUMBERS = 'numbers'

/** Renders the numbers of a game side by side. */
export const numbersOf = (game: Game, columns: LoadedColumn[]): View => html`
  <${Stats} items=${columns
    .filter(({ align }) => align !== 'start')
    .map(({ label, live = false, cells }) => {
      const value = cells.get(game.id) as string | number | undefined
      return { label, value: value ?? 0, live: live && Boolean(value) }
    })} />`

const number = new Intl.NumberFormat('en')

/** Renders the most important next step for a game. */
function nextStep(game: Game): View {
  const path = pathOf(game)
  if (!game.playable)
    return step(
      'Closed',
      'Nobody can play it now. Its settings open it again.',
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
  if (game.visibility === 'private' && !game.approval && game.testerIds.length + game.makerIds.length === 0)
    return step(
      'Next: invite somebody',
      'It is private: people whom you invite may play it.',
      `${path}/team`,
      'Open the team',
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

/** Shows the reason of a suspension, and the form for the owner's single answer. */
const suspensionOf = (
  { appeal, slug }: Game,
  { reason, at }: NonNullable<Game['suspended']>,
  isOwner: boolean,
): View => html`
  <${Card} title="Suspended" description="Nobody can play it or sign in to it now. Your files are safe.">
    <p>${reason}</p><p class="soft">Since <${Timestamp} at=${at} />.</p>
    ${
      appeal
        ? html`<p>You answered: ${appeal}</p>`
        : isOwner &&
          html`<${Form} action=${`/games/${slug}/appeal`}>
            <${Field} label="Your answer" name="text" type="textarea" rows=${4} required maxlength=${APPEAL_LENGTH} hint="You can answer once. Say what you changed." />
            <${Button} kind="act">Send the answer<//>
          <//>`
    }
  <//>`

/** Shows that the game waits for staff, or why it was refused. */
const approvalOf = ({ state, reason }: NonNullable<Game['approval']>): View =>
  state === 'waiting'
    ? html`<${Card} title="Waits for approval" description="The people who look after this platform see new games before everyone else does.">
        <p>Until then only you can open it. Go on working: deploys and previews are as usual. You are told by mail.</p>
      <//>`
    : html`<${Card} title="Not approved" description="Only you can open it. Your files are safe.">
        <p>${reason}</p>
        <p class="soft">When you have changed it, ask the people who look after this platform to look again.</p>
      <//>`

const step = (title: string, text: string, href: string, label: string): View => html`
  <${Card} title=${title} description=${text}><${Button} kind="act" href=${href}>${label}<//><//>`

const signIn = (app: FastifyInstance, game: Game, recent: number): View => html`
  ${dashboardHeader(app, game, `${pathOf(game)}/sign-in`)}
  <div class="stack"><${Stats} items=${[
    { label: 'sign-ins in all', value: game.stats.signIns },
    { label: 'in 30 days', value: recent },
    { label: 'sign-in button', value: game.settings.authWidget === 'on' ? 'on' : 'off' },
  ]} /></div>
  <${Section} layout="side" title="Players" description="Players sign in with their account here. Your game needs no form. Use the player's id as the key of saved games.">
    <${CodeBlock} title="In the game" code=${SESSION} />
    <${CodeBlock} title="A button of your own" code=${SIGN_IN} />
    <div class="row"><${Button} kind=${game.settings.authWidget === 'on' ? undefined : 'act'} href=${`${pathOf(game)}/settings#serving`}>${game.settings.authWidget === 'on' ? 'Turn the ready-made button off' : 'Use the ready-made button'}<//></div>
  <//>
  <${Section} layout="side" title="OAuth application" description="For a server of your own. Create the secret under Integrate.">
    <${Card}><${DescriptionList} items=${[
      { term: 'Client id', detail: html`<${CopyValue} value=${game.clientId} label="client id" />` },
      { term: 'Redirect URI', detail: html`<${CopyValue} value=${redirectUriOf(game.url)} label="redirect URI" />` },
    ]} /><//>
  <//>`
