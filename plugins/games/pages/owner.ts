import type { FastifyReply, FastifyRequest } from 'fastify'
import Type, { type Static } from 'typebox'
import { invalidField, isPlatformError } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import { bodyWithText } from '../../../core/http/limits/body-limits.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { Button, Form, html, PageHeader, renderPage, StepIndicator } from '../../../core/pages/index.ts'
import { pathOf } from '../record.ts'
import { type AnalyticsQuery, DESCRIPTION_LENGTH, type Game, MOST_SAVED_BYTES, SLUG_PATTERN } from '../schemas.ts'
import { analytics, SPANS } from './analytics.ts'
import { FeaturesBody, readFeatures } from './features.ts'
import { type GameForm, gameFields, NEW_GAME_STEPS, readForm, SLUG_ADVICE, slugField } from './form.ts'
import { integrate } from './integrate.ts'
import { myGames, type RefusedDeletion } from './mine.ts'
import { settings } from './settings.ts'

const constraints = { origin: 'portal' } as const
const own = { config: { auth: 'session', page: true }, constraints } as const

/** Form fields are optional in the schema, so that an error about a missing field appears beside it. */
const Text = Type.String({ default: '', maxLength: 100_000 })
const Box = Type.Optional(Type.Literal('on'))
const ISOLATION = { auto: 'auto', on: true, off: false } as const
const GameBody = Type.Object({ title: Text, description: Text, tags: Text, visibility: Text })
const NewGameBody = Type.Object({ ...GameBody.properties, slug: Type.Optional(Text) })
const ServingBody = Type.Object({
  playable: Box,
  authWidget: Box,
  crossOriginIsolated: Type.Optional(Type.Union([Type.Literal('auto'), Type.Literal('on'), Type.Literal('off')])),
  embedded: Box,
  remix: Box,
  clickToStart: Box,
  multiplayer: Box,
  guests: Box,
  maxPlayersPerRoom: Type.String({
    pattern: '^([1-9][0-9]{0,2}|1000)$',
    advice: 'Enter a whole number from 1 to 1000.',
  }),
  savesBytes: Type.Optional(Type.String({ pattern: '^[0-9]{1,10}$', advice: 'Enter a whole number of bytes.' })),
})
const MediaBody = Type.Object({ media: Type.String({ maxLength: 30 }) })
const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const Cursor = Type.Object({ cursor: Type.Optional(Type.String({ maxLength: 200 })) })
const Done = Type.Object({ saved: Type.Optional(Type.String()) })
const MineQuery = Type.Object({
  ...Cursor.properties,
  /** The cursor of the deleted games. */
  after: Type.Optional(Type.String({ maxLength: 200 })),
  /** The id of a game that was just deleted. */
  deleted: Type.Optional(Type.String()),
  erased: Type.Optional(Type.String()),
})
const SLUG = new RegExp(SLUG_PATTERN)

export const MINE_PER_PAGE = 24
const BLANK: GameForm = { title: '', description: '', tags: '', visibility: 'public' }

/** The portal's pages for owners of games. */
export const ownerPages: Routes = async (app) => {
  /** @param refused a deletion for good that was refused, which opens its confirmation again */
  const showMine = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { cursor, after, deleted: justDeleted, erased }: Static<typeof MineQuery>,
    refused?: RefusedDeletion,
  ) => {
    const { playerId, viewer } = callerOf(request)
    const { dashboard } = app.games
    const [page, deleted, stats, tested] = await Promise.all([
      app.games.list(playerId, { limit: MINE_PER_PAGE, ...(cursor ? { cursor } : {}) }),
      cursor
        ? { games: [], nextCursor: null }
        : app.games.list(playerId, { limit: MINE_PER_PAGE, ...(after ? { cursor: after } : {}) }, { deleted: true }),
      dashboard.loadFigures(playerId),
      cursor ? [] : app.games.tested(playerId),
    ])
    const columns = await dashboard.loadColumns(page.games)
    const notice = () => {
      if (refused && !deleted.games.some(({ id }) => id === refused.id))
        return { tone: 'error' as const, message: refused.message }
      if (justDeleted !== undefined) {
        return {
          message: html`Deleted. It can be brought back for 30 days.
                  <${Form} action="/games/restore" inline><${Button} small name="game" value=${justDeleted}>Undo<//><//>`,
        }
      }
      return erased === undefined ? null : { message: 'Deleted for good.' }
    }
    return renderPage(reply, {
      title: 'My games',
      current: '/games',
      user: viewer,
      status: refused?.status ?? 200,
      flash: notice(),
      body: myGames(app, { playerId, ...page, columns, stats, tested, deleted, deletedAfter: after, cursor, refused }),
    })
  }

  app.get('/games', { ...own, schema: { querystring: MineQuery } }, async (request, reply) =>
    showMine(request, reply, request.query),
  )

  const [label, example] = app.origins.byPort
    ? ['Name of its page', `${app.origins.portal}${pathOf({ slug: 'my-game' })}`]
    : ['Name in its address', app.origins.slugOrigin('my-game')]
  const hint = `my-game in ${example}; if empty, it is made from the title.`
  const newSlugField = slugField({ label, value: '', required: false, hint })

  app.get('/games/new', own, async (request, reply) =>
    renderPage(reply, {
      title: 'New game',
      current: '/games',
      user: callerOf(request).viewer,
      narrow: true,
      body: html`
        <${PageHeader} title="New game" crumbs=${[{ label: 'My games', href: '/games' }]} lede=${`It gets an address of its own.${app.games.dashboard.newGame.length > 0 ? ' If you have no files yet, begin with one that runs at once.' : ''}`}
          actions=${app.games.dashboard.newGame.map(({ label, href }) => html`<${Button} href=${href}>${label}<//>`)} />
        <${StepIndicator} label="Publish a game" steps=${NEW_GAME_STEPS} current=${0} />
        <${Form} action="/games/new" submit="Create the game">${gameFields(BLANK)}${newSlugField}<//>`,
    }),
  )

  app.post(
    '/games/new',
    { ...own, bodyLimit: bodyWithText(DESCRIPTION_LENGTH), schema: { body: NewGameBody } },
    async (request, reply) => {
      const game = await app.games.create(callerOf(request).playerId, readForm(request.body))
      return reply.redirect(`${pathOf(game)}/deploys`, 303)
    },
  )

  app.post(
    '/games/restore',
    { ...own, schema: { body: Type.Object({ game: Type.String({ maxLength: 30 }) }) } },
    async (request, reply) => {
      const game = await app.games.deletion.restore(callerOf(request).playerId, request.body.game)
      return reply.redirect(`${pathOf(game)}/settings`, 303)
    },
  )

  app.post(
    '/games/erase',
    {
      ...own,
      schema: {
        body: Type.Object({ game: Type.String({ maxLength: 30 }), confirm: Text, after: Type.Optional(Text) }),
      },
    },
    async (request, reply) => {
      const { game, confirm, after } = request.body
      try {
        await app.games.deletion.removeForGood(callerOf(request).playerId, game, confirm.trim())
      } catch (error) {
        if (!isPlatformError(error) || error.statusCode === 404) throw error
        const { message, statusCode: status } = error
        return showMine(request, reply, after ? { after } : {}, { id: game, confirm, message, status })
      }
      return reply.redirect('/games?erased', 303)
    },
  )

  /** Ownership is checked before the body is read. Another player's game counts as not found. */
  const mine = {
    ...own,
    onRequest: async (request: FastifyRequest) => {
      await app.games.mustMake(callerOf(request).playerId, (request.params as { slug: string }).slug)
    },
  }
  /** Of its makers, only the owner. */
  const owners = {
    ...own,
    onRequest: async (request: FastifyRequest) => {
      await app.games.mustOwn(callerOf(request).playerId, (request.params as { slug: string }).slug)
    },
  }
  const game = { ...mine, schema: { params: Slug } } as const
  const gameOf = (request: FastifyRequest) =>
    app.games.mustMake(callerOf(request).playerId, (request.params as { slug: string }).slug)
  const saved = (game: Game, part = '') => `${pathOf(game)}/settings?saved${part}`

  app.get('/games/:slug/settings', { ...mine, schema: { params: Slug, querystring: Done } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await gameOf(request)
    const isOwner = app.games.may(playerId, game, 'own')
    return renderPage(reply, {
      title: `Settings of ${game.title}`,
      user: viewer,
      scripts: ['media-upload.js'],
      flash: 'saved' in request.query ? { message: 'Saved.' } : null,
      body: settings(app, { game, isOwner }),
    })
  })

  const described = { ...mine, bodyLimit: bodyWithText(DESCRIPTION_LENGTH), schema: { params: Slug, body: GameBody } }
  app.post('/games/:slug/settings', described, async (request, reply) => {
    const { title, description, tags = [], visibility = 'public' } = readForm(request.body)
    const changes = { title, description, tags, visibility }
    const changed = await app.games.update(callerOf(request).playerId, request.params.slug, changes)
    return reply.redirect(saved(changed), 303)
  })

  app.post(
    '/games/:slug/settings/features',
    { ...mine, schema: { params: Slug, body: FeaturesBody } },
    async (request, reply) => {
      const changes = { features: readFeatures(request.body) }
      const changed = await app.games.update(callerOf(request).playerId, request.params.slug, changes)
      return reply.redirect(saved(changed, '#features'), 303)
    },
  )

  app.post(
    '/games/:slug/settings/serving',
    { ...mine, schema: { params: Slug, body: ServingBody } },
    async (request, reply) => {
      const { playable, authWidget, crossOriginIsolated, embedded, remix, multiplayer, guests } = request.body
      const { clickToStart, maxPlayersPerRoom, savesBytes } = request.body
      const game = await app.games.update(callerOf(request).playerId, request.params.slug, {
        playable: playable === 'on',
        settings: {
          authWidget: authWidget ?? 'off',
          ...(crossOriginIsolated ? { crossOriginIsolated: ISOLATION[crossOriginIsolated] } : {}),
          embedded: embedded === 'on',
          remix: remix === 'on',
          clickToStart: clickToStart === 'on',
          multiplayer: {
            enabled: multiplayer === 'on',
            guests: guests === 'on',
            maxPlayersPerRoom: Number(maxPlayersPerRoom),
          },
          ...(savesBytes === undefined ? {} : { saves: { bytes: Math.min(Number(savesBytes), MOST_SAVED_BYTES) } }),
        },
      })
      return reply.redirect(saved(game), 303)
    },
  )

  app.post(
    '/games/:slug/settings/address',
    { ...owners, schema: { params: Slug, body: Type.Object({ slug: Text }) } },
    async (request, reply) => {
      const slug = request.body.slug.trim().toLowerCase()
      if (!SLUG.test(slug)) throw invalidField('slug', SLUG_ADVICE)
      const changed = await app.games.update(callerOf(request).playerId, request.params.slug, { slug })
      return reply.redirect(saved(changed, '#address'), 303)
    },
  )

  app.post(
    '/games/:slug/settings/media/cover',
    { ...mine, schema: { params: Slug, body: MediaBody } },
    async (request, reply) => {
      const changes = { coverMediaId: request.body.media }
      const changed = await app.games.update(callerOf(request).playerId, request.params.slug, changes)
      return reply.redirect(saved(changed, '#media'), 303)
    },
  )

  app.post(
    '/games/:slug/settings/media/remove',
    { ...mine, schema: { params: Slug, body: MediaBody } },
    async (request, reply) => {
      await app.games.media.remove(callerOf(request).playerId, request.params.slug, request.body.media)
      return reply.redirect(`${pathOf(request.params)}/settings?saved#media`, 303)
    },
  )

  app.post(
    '/games/:slug/settings/delete',
    { ...owners, schema: { params: Slug, body: Type.Object({ confirm: Text }) } },
    async (request, reply) => {
      if (request.body.confirm.trim() !== request.params.slug)
        throw invalidField('confirm', `Nothing was deleted: type ${request.params.slug} to confirm.`)
      const { id } = await gameOf(request)
      await app.games.deletion.remove(callerOf(request).playerId, id)
      return reply.redirect(`/games?deleted=${id}`, 303)
    },
  )

  app.get(
    '/games/:slug/analytics',
    { ...mine, schema: { params: Slug, querystring: Type.Object({ days: Type.Optional(Type.Integer()) }) } },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      const found = await gameOf(request)
      const span = SPANS.find((days) => days === request.query.days) ?? 30
      const from = new Date(app.clock.now().getTime() - (span - 1) * 86_400_000).toISOString().slice(0, 10)
      const query: AnalyticsQuery = { from }
      const counted = await app.games.analytics(playerId, found.id, query)
      return renderPage(reply, {
        title: `Analytics of ${found.title}`,
        scripts: ['analytics.js'],
        user: viewer,
        body: analytics(app, found, { ...counted, span, stats: await app.games.dashboard.loadGameStats(found, from) }),
      })
    },
  )

  const appIdOf = async ({ clientId }: Game) => (await app.identity.apps.find(clientId))?.id

  app.get('/games/:slug/integrate', game, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const found = await gameOf(request)
    const isOwner = app.games.may(playerId, found, 'own')
    return renderPage(reply, {
      title: `Integrate ${found.title}`,
      user: viewer,
      body: integrate(app, found, { isOwner, appId: await appIdOf(found) }),
    })
  })

  app.post('/games/:slug/integrate/secret', { ...owners, schema: { params: Slug } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const found = await gameOf(request)
    const { clientSecret } = await app.games.rotateSecret(playerId, found.id, 0)
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: `Integrate ${found.title}`,
      user: viewer,
      body: integrate(app, found, { isOwner: true, appId: await appIdOf(found), newSecret: clientSecret }),
    })
  })
}
