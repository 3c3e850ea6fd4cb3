import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { cacheControl } from '../../../core/http/headers.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { isReady, pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { frameOf, isEmbeddable } from './frame.ts'

const Pixels = Type.Integer({ minimum: 1, maximum: 10_000 })
const Query = Type.Object({
  url: Type.String({ maxLength: 2000, description: 'The page of a game here, or the address of the game itself.' }),
  maxwidth: Type.Optional(Pixels),
  maxheight: Type.Optional(Pixels),
  format: Type.Optional(Type.Literal('json')),
})

const Answer = Type.Object(
  {
    version: Type.Literal('1.0'),
    type: Type.Enum(['rich', 'link'], { description: '`link` for a game that runs in no page but its own.' }),
    title: Type.String(),
    author_name: Type.Optional(Type.String()),
    author_url: Type.Optional(Type.String()),
    provider_name: Type.String(),
    provider_url: Type.String(),
    cache_age: Type.Integer({ description: 'In seconds.' }),
    thumbnail_url: Type.Optional(Type.String()),
    thumbnail_width: Type.Optional(Type.Integer()),
    thumbnail_height: Type.Optional(Type.Integer()),
    html: Type.Optional(Type.String()),
    width: Type.Optional(Type.Integer()),
    height: Type.Optional(Type.Integer()),
  },
  { title: 'OEmbed' },
)

/** The size of the preview image of a game, in pixels. */
const CARD = { width: 1200, height: 630 }
const CACHE_SECONDS = 3600

/** `/oembed` (oembed.com): how another website shows a public game whose address somebody has pasted there. */
export const oembedRoutes: Routes = async (app) => {
  app.get(
    '/oembed',
    {
      config: { auth: 'none', cors: {} },
      constraints: { origin: 'portal' },
      schema: {
        summary: 'How another website shows a public game (oEmbed)',
        tags: ['games'],
        querystring: Query,
        response: { 200: Answer },
      },
    },
    async (request, reply) => {
      const { url, maxwidth, maxheight } = request.query
      const slug = slugIn(app, url)
      const game = slug === null ? null : ((await app.games.bySlug(slug)) ?? (await app.games.movedFrom(slug)))
      if (!game || !app.games.isShown(game) || !isReady(game)) throw new NotFound('game')
      const [maker] = (await app.games.members.creditsOf([game])).get(game.id) ?? []
      const { portal } = app.origins
      const page = portal + pathOf(game)
      const fits = (maxwidth ?? CARD.width) >= CARD.width && (maxheight ?? CARD.height) >= CARD.height
      reply.header('cache-control', cacheControl.revalidate)
      return {
        version: '1.0' as const,
        title: game.title,
        ...(maker && {
          author_name: maker.name,
          ...(maker.hasPage && { author_url: `${portal}/players/${maker.id}` }),
        }),
        provider_name: app.site.name,
        provider_url: `${portal}/`,
        cache_age: CACHE_SECONDS,
        ...(fits && {
          thumbnail_url: `${page}/card.png?v=${app.games.cards.ofGame(game).key}`,
          thumbnail_width: CARD.width,
          thumbnail_height: CARD.height,
        }),
        ...(isEmbeddable(game)
          ? { type: 'rich' as const, ...frameOf(game, { width: maxwidth, height: maxheight }) }
          : { type: 'link' as const }),
      }
    },
  )
}

/** Returns the slug of the game whose page, or whose own address, an address is; null for any other. */
function slugIn({ origins }: Pick<FastifyInstance, 'origins'>, address: string): string | null {
  if (!URL.canParse(address)) return null
  const { host, pathname, protocol } = new URL(address)
  if (!/^https?:$/.test(protocol)) return null
  const site = origins.parse(host)
  if (site.kind === 'game') return site.preview === null ? site.slug : null
  return site.kind === 'portal' ? (/^\/games\/([a-z0-9-]{1,63})\/?$/.exec(pathname)?.[1] ?? null) : null
}

/** Returns the address at which `/oembed` describes a game, for the head of its page. */
export const oembedOf = ({ portal }: Pick<FastifyInstance['origins'], 'portal'>, game: Pick<Game, 'slug'>): string =>
  `${portal}/oembed?${new URLSearchParams({ url: portal + pathOf(game) })}`
