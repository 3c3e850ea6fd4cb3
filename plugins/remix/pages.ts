import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../core/errors.ts'
import { callerOf } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { Button, type Content, Field, Form, html, PageHeader, Row, renderPage } from '../../core/pages/index.ts'
import { type Game, gameTitle } from '../games/index.ts'
import { TITLE_LENGTH } from './schemas.ts'

const own = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const Body = Type.Object({ title: Type.String({ default: '', maxLength: TITLE_LENGTH }) })

const pathOf = ({ slug }: { slug: string }): string => `/games/${slug}`
const formOf = (game: { slug: string }): string => `${pathOf(game)}/remix`

/** The form of *Create your own version*. */
export const pages: Routes = async (app) => {
  app.get('/games/:slug/remix', { ...own, schema: { params: Slug } }, async (request, reply) =>
    form(app, request, reply, request.params.slug),
  )

  /** Whether the game may be copied is checked before the body is read. */
  const onRequest = async (request: FastifyRequest) => {
    await app.remixes.mustBeOffered(callerOf(request).playerId, (request.params as { slug: string }).slug)
  }

  app.post(
    '/games/:slug/remix',
    { ...own, onRequest, schema: { params: Slug, body: Body } },
    async (request, reply) => {
      const { slug } = request.params
      const { title } = request.body
      try {
        const made = await app.remixes.create(callerOf(request).playerId, slug, { title })
        return reply.redirect(pathOf(made), 303)
      } catch (error) {
        if (!isPlatformError(error) || error.statusCode >= 500) throw error
        return form(app, request, reply, slug, { title, problem: error.message, status: error.statusCode })
      }
    },
  )
}

async function form(
  { remixes }: Pick<FastifyInstance, 'remixes'>,
  request: FastifyRequest,
  reply: FastifyReply,
  slug: string,
  { title, problem, status = 200 }: { title?: string; problem?: string; status?: number } = {},
): Promise<string> {
  const { playerId, viewer } = callerOf(request)
  const game = await remixes.mustBeOffered(playerId, slug)
  return renderPage(reply, {
    title: `Your own version of ${game.title}`,
    current: '/games',
    user: viewer,
    narrow: true,
    status,
    body: html`
      <${PageHeader} title="Create your own version" crumbs=${[{ label: game.title, href: pathOf(game) }]}
        lede="A new game of yours with the same files, at an address of its own. Then you change it." />
      <${Form} action=${formOf(game)} submit="Create the game" error=${problem}>
        <${Field} label="Title" name="title" value=${title ?? remixes.titleFor(game)} required maxlength=${TITLE_LENGTH} autocomplete="off"
          hint="Its page says that it was made from this game. Scores, saves and pictures stay with the original." />
      <//>`,
  })
}

/** Renders where a game came from, and the way to one's own version of it, for the game's page. */
export async function onGamePage({ remixes }: Pick<FastifyInstance, 'remixes'>, game: Game): Promise<Content> {
  const origin = await remixes.originOf(game.id)
  const isOffered = remixes.isOffered(game)
  if (!origin && !isOffered) return null
  const title = origin?.game
    ? html`<a href=${pathOf(origin.game)}>${gameTitle(origin.game)}</a>`
    : html`<bdi>another game</bdi>`
  const owner = origin?.owner?.hasPage
    ? html`<a href=${`/players/${origin.owner.id}`}><bdi>${origin.owner.name}</bdi></a>`
    : html`<bdi>${origin?.owner?.name ?? 'somebody'}</bdi>`
  return html`
    ${origin && html`<p class="soft">Made from ${title} by ${owner}.</p>`}
    ${isOffered && html`<${Row}><${Button} href=${formOf(game)}>Create your own version<//><//>`}`
}
