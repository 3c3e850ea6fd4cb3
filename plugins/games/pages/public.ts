import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { extendPolicy } from '../../../core/http/security-headers.ts'
import { html, PageHeader, renderPage } from '../../../core/pages/index.ts'
import { oembedOf } from '../embed/oembed.ts'
import { FeatureQuery, ORIENTATIONS } from '../features/schemas.ts'
import { isFramed, isReady, pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { cardFacts } from './card.ts'
import { catalog, catalogTitle } from './catalog.ts'
import { gameTitle } from './game-title.ts'
import { home } from './home.ts'
import { invitation } from './invitation.ts'
import { moreGames } from './more-games.ts'
import { play, suspendedForOthers } from './play.ts'

const constraints = { origin: 'portal' } as const
const open = { config: { auth: 'optional', page: true }, constraints } as const
const own = { config: { auth: 'session', page: true }, constraints } as const

const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const Invitation = Type.Object({ ...Slug.properties, key: Type.String({ maxLength: 100 }) })
/** The form of the filter sends empty texts for what it leaves open. */
const Browse = Type.Object({
  ...FeatureQuery.properties,
  orientation: Type.Optional(
    Type.Unsafe<keyof typeof ORIENTATIONS | ''>(Type.Enum(['', ...Object.keys(ORIENTATIONS)])),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  q: Type.Optional(Type.String({ maxLength: 100 })),
  tag: Type.Optional(Type.String({ maxLength: 30 })),
  sort: Type.Union([Type.Literal('new'), Type.Literal('popular')], { default: 'new' }),
})

const PER_PAGE = 24
const ON_HOME = 8
/** The number of busiest games to check, since some of them are private. */
const BUSY = 12

/** The portal's public pages about games. */
export const publicPages: Routes = async (app) => {
  app.get('/', open, async (request, reply) => {
    const user = request.principal?.viewer ?? null
    const ready = { ready: true }
    const [newest, popular, mine, playing] = await Promise.all([
      app.games.catalog.page({ sort: 'new', limit: ON_HOME }, ready),
      app.games.catalog.page({ sort: 'popular', limit: 4 }, ready),
      user ? app.games.list(user.id, { limit: 4 }) : { games: [] },
      app.games.playing.now(),
    ])
    const busy = await app.games.catalog.among([...playing.keys()].slice(0, BUSY))
    return renderPage(reply, {
      title: 'Games',
      current: '/',
      description: 'Games to play right here, and a place to publish your own.',
      share: { path: '/' },
      user,
      body: home(app, {
        newest: newest.games,
        popular: popular.games,
        mine: mine.games,
        busy,
        facts: await cardFacts(app, [...newest.games, ...popular.games, ...mine.games, ...busy]),
        more: newest.nextCursor !== null,
      }),
    })
  })

  app.get('/catalog', { ...open, schema: { querystring: Browse } }, async (request, reply) => {
    const { orientation, ...rest } = request.query
    const query = orientation ? { ...rest, orientation } : rest
    const [page, tags, languages] = await Promise.all([
      app.games.catalog.page({ ...query, limit: PER_PAGE }, { ready: true }),
      app.games.catalog.tags(),
      app.games.catalog.languages(),
    ])
    return renderPage(reply, {
      title: catalogTitle(query),
      current: '/catalog',
      description: 'Every game that can be played here.',
      share: { path: query.tag && !query.q ? `/catalog?tag=${encodeURIComponent(query.tag)}` : '/catalog' },
      user: request.principal?.viewer,
      body: catalog({ ...page, tags, languages, query, facts: await cardFacts(app, page.games) }),
    })
  })

  app.get('/games/:slug', { ...open, schema: { params: Slug } }, async (request, reply) => {
    const viewer = request.principal?.viewer
    const game = await app.games.bySlug(request.params.slug)
    if (!game || !app.games.visibleTo(viewer?.id ?? null, game)) throw new NotFound('game')
    const makers = (await app.games.members.creditsOf([game])).get(game.id) ?? []
    const isMaker = app.games.may(viewer?.id ?? null, game, 'make')
    const shown = app.games.isShown(game)
    const sections = game.suspended ? [] : app.games.pageSections.map((section) => section(game, viewer?.id ?? null))
    if (isFramed(game)) {
      const { origin } = new URL(game.url)
      extendPolicy(reply, { 'frame-src': [...new Set([origin, app.origins.game(game.slug)])] })
      // The game accepts a ticket only from this origin, which a stricter policy would hide. The page repeats it below,
      // because a proxy may add another header, of which the last one counts.
      reply.header('referrer-policy', 'strict-origin')
    }
    // A frame has shared memory only when its top page is isolated too.
    if (game.isolated) reply.header('cross-origin-embedder-policy', 'require-corp')
    if (game.suspended && !isMaker) {
      return renderPage(reply, {
        title: 'Suspended',
        current: '/catalog',
        status: 451,
        user: viewer,
        body: suspendedForOthers(),
      })
    }
    return renderPage(reply, {
      title: game.title,
      current: '/catalog',
      status: game.suspended ? 451 : 200,
      description: game.description.slice(0, 200).trim() || undefined,
      user: viewer,
      wide: true,
      scripts: ['play.js'],
      head: html`
        ${isFramed(game) && html`<meta name="referrer" content="strict-origin" />`}
        ${shown && isReady(game) && html`<link rel="alternate" type="application/json+oembed" href=${oembedOf(app.origins, game)} title=${game.title} />`}`,
      share: shown ? shareOf(app, game) : undefined,
      body: play(app, {
        game,
        makers,
        signedIn: viewer !== undefined,
        isMaker,
        sections: await Promise.all(sections),
        more: game.suspended
          ? null
          : await moreGames(app, game, makers.find(({ id }) => id === game.ownerId)?.name ?? 'this maker'),
      }),
    })
  })

  app.get(
    '/games/:slug/join/:key',
    { config: { ...own.config, secretPath: true }, constraints, schema: { params: Invitation } },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      const game = await app.games.invitations.invitedTo(request.params.slug, request.params.key)
      if (app.games.visibleTo(playerId, game)) return reply.redirect(pathOf(game), 303)
      const owner = await app.identity.players.find(game.ownerId)
      reply.header('referrer-policy', 'no-referrer')
      return renderPage(reply, {
        title: 'Invitation',
        user: viewer,
        narrow: true,
        body: html`<${PageHeader} title=${gameTitle(game)} lede=${`${owner?.name ?? 'Somebody'} invites you to a private game.`} />
          ${invitation(game, request.params.key)}`,
      })
    },
  )

  app.post(
    '/games/:slug/join/:key',
    { config: { ...own.config, secretPath: true }, constraints, schema: { params: Invitation } },
    async (request, reply) => {
      const { slug, key } = request.params
      return reply.redirect(pathOf(await app.games.invitations.accept(callerOf(request).playerId, slug, key)), 303)
    },
  )
}

const shareOf = ({ games, origins }: Pick<FastifyInstance, 'games' | 'origins'>, game: Game) => ({
  path: pathOf(game),
  image: `${origins.portal}${pathOf(game)}/card.png?v=${games.cards.ofGame(game).key}`,
  imageAlt: game.title,
})
