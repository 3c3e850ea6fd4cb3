import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/auth.ts'
import { NotFound } from '../../../core/errors.ts'
import { Form, html, PageHeader, renderPage } from '../../../core/pages.ts'
import type { Routes } from '../../../core/routes.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { type GameForm, gameFields, type Problems, problemsOf, readForm } from './form.ts'
import { home } from './home.ts'
import { integrate } from './integrate.ts'
import { myGames } from './mine.ts'
import { play } from './play.ts'
import { settings } from './settings.ts'

const constraints = { origin: 'portal' } as const
const open = { config: { auth: 'optional', page: true }, constraints } as const
const own = { config: { auth: 'session', page: true }, constraints } as const

/** A form field that came, or nothing: what is missing is said beside the field. */
const Text = Type.String({ default: '', maxLength: 100_000 })
const Box = Type.Optional(Type.Literal('on'))
const GameBody = Type.Object({ title: Text, description: Text, tags: Text, visibility: Text })
const ServingBody = Type.Object({
  playable: Box,
  authWidget: Box,
  crossOriginIsolated: Box,
  multiplayer: Box,
  guests: Box,
  maxPlayersPerRoom: Type.String({ pattern: '^([1-9][0-9]{0,2}|1000)$' }),
})
const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const Cursor = Type.Object({ cursor: Type.Optional(Type.String({ maxLength: 200 })) })
const Done = Type.Object({ saved: Type.Optional(Type.String()) })

const PER_PAGE = 24
const BLANK: GameForm = { title: '', description: '', tags: '', visibility: 'public' }

/** The portal's pages about games. */
export const pages: Routes = async (app) => {
  const HomeQuery = Type.Object({
    ...Cursor.properties,
    q: Type.Optional(Type.String({ maxLength: 100 })),
    tag: Type.Optional(Type.String({ maxLength: 30 })),
  })
  app.get('/', { ...open, schema: { querystring: HomeQuery } }, async (request, reply) => {
    const user = request.principal?.viewer ?? null
    const [{ games, nextCursor }, mine] = await Promise.all([
      app.games.catalog({ ...request.query, sort: 'new', limit: PER_PAGE }, { ready: true }),
      user ? app.games.list(user.id, { limit: 4 }) : { games: [] },
    ])
    return renderPage(reply, {
      title: 'Games',
      current: '/',
      description: 'Games to play right here, and a place to publish your own.',
      user,
      body: home(app, { games, nextCursor, mine: mine.games, query: request.query }),
    })
  })

  app.get('/games', { ...own, schema: { querystring: Cursor } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const { cursor } = request.query
    const page = await app.games.list(playerId, { limit: PER_PAGE, ...(cursor ? { cursor } : {}) })
    return renderPage(reply, {
      title: 'My games',
      current: '/games',
      user: viewer,
      body: myGames(app, { ...page, cursor }),
    })
  })

  const newGame = (reply: FastifyReply, user: object | undefined, form = BLANK, problems: Problems = {}) =>
    renderPage(reply, {
      title: 'New game',
      current: '/games',
      user: user as never,
      narrow: true,
      status: Object.keys(problems).length > 0 ? 400 : 200,
      body: html`
        <${PageHeader} title="New game" crumbs=${[{ label: 'My games', href: '/games' }]} lede="It gets an address of its own. Publish a build to it next." />
        <${Form} action="/games/new" submit="Make it" error=${problems.form}>${gameFields(form, problems)}<//>`,
    })

  app.get('/games/new', own, async (request, reply) => newGame(reply, callerOf(request).viewer))

  app.post('/games/new', { ...own, schema: { body: GameBody } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const read = readForm(request.body)
    if ('problems' in read) return newGame(reply, viewer, request.body, read.problems)
    const game = await app.games.create(playerId, read.fields)
    return reply.redirect(`${pathOf(game)}/deploys`, 303)
  })

  app.get('/games/:slug', { ...open, schema: { params: Slug } }, async (request, reply) => {
    const viewer = request.principal?.viewer
    const game = await app.games.bySlug(request.params.slug)
    if (!game || !app.games.visibleTo(viewer?.id ?? null, game)) throw new NotFound('game')
    const owner = await app.identity.players.find(game.ownerId)
    // A frame has shared memory only when its top page is isolated too (contracts, section 7).
    if (game.settings.crossOriginIsolated) reply.header('cross-origin-embedder-policy', 'require-corp')
    return renderPage(reply, {
      title: game.title,
      description: game.description.slice(0, 200).trim() || undefined,
      user: viewer,
      wide: true,
      scripts: ['play.js'],
      body: play(app, {
        game,
        ownerName: owner?.name ?? 'somebody',
        signedIn: viewer !== undefined,
        isOwner: game.ownerId === viewer?.id,
      }),
    })
  })

  app.get('/games/:slug/settings', { ...own, schema: { params: Slug, querystring: Done } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.games.mustOwn(playerId, request.params.slug)
    const flash = 'saved' in request.query ? { message: 'Saved.' } : null
    return renderPage(reply, { title: `Settings of ${game.title}`, user: viewer, flash, body: settings(app, game) })
  })

  const saved = (game: Game) => `${pathOf(game)}/settings?saved`

  app.post('/games/:slug/settings', { ...own, schema: { params: Slug, body: GameBody } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.games.mustOwn(playerId, request.params.slug)
    const form = request.body
    const again = (problems: Problems) =>
      renderPage(reply, {
        title: `Settings of ${game.title}`,
        user: viewer,
        status: 400,
        body: settings(app, game, { form, problems }),
      })
    const read = readForm(form)
    if ('problems' in read) return again(read.problems)
    const { title, description, tags = [], visibility = 'public' } = read.fields
    try {
      await app.games.update(playerId, game.id, { title, description, tags, visibility })
    } catch (error) {
      return again(problemsOf(error))
    }
    return reply.redirect(saved(game), 303)
  })

  app.post(
    '/games/:slug/settings/serving',
    { ...own, schema: { params: Slug, body: ServingBody } },
    async (request, reply) => {
      const { playable, authWidget, crossOriginIsolated, multiplayer, guests, maxPlayersPerRoom } = request.body
      const game = await app.games.update(callerOf(request).playerId, request.params.slug, {
        playable: playable === 'on',
        settings: {
          authWidget: authWidget ?? 'off',
          crossOriginIsolated: crossOriginIsolated === 'on',
          multiplayer: {
            enabled: multiplayer === 'on',
            guests: guests === 'on',
            maxPlayersPerRoom: Number(maxPlayersPerRoom),
          },
        },
      })
      return reply.redirect(saved(game), 303)
    },
  )

  app.post('/games/:slug/settings/delete', { ...own, schema: { params: Slug } }, async (request, reply) => {
    await app.games.remove(callerOf(request).playerId, request.params.slug)
    return reply.redirect('/games', 303)
  })

  app.get('/games/:slug/integrate', { ...own, schema: { params: Slug } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.games.mustOwn(playerId, request.params.slug)
    return renderPage(reply, { title: `Integrate ${game.title}`, user: viewer, body: integrate(app, game) })
  })
}
