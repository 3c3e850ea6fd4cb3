import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import { PageQuery } from '../../../core/http/pagination.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { Button, EmptyState, html, Pagination, renderPage, Stack, Table, type View } from '../../../core/pages/index.ts'
import { dashboardHeader, type Game } from '../../games/index.ts'
import type { Job } from '../schemas.ts'
import { columnsOf, newJob, templatesToUse } from './list-page.ts'

/** Returns the path of the page with the Blender jobs of a game. */
export const jobsOf = ({ slug }: Pick<Game, 'slug'>): string => `/games/${slug}/blender`

/** The tab *Blender* of a game's dashboard. */
export const gamePages: Routes = async (app) => {
  app.get(
    '/games/:slug/blender',
    {
      config: { auth: 'session', page: true },
      constraints: { origin: 'portal' },
      schema: {
        params: Type.Object({ slug: Type.String({ maxLength: 63 }) }),
        querystring: Type.Object({ cursor: PageQuery.properties.cursor }),
      },
    },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      const game = await app.games.mustMake(playerId, request.params.slug)
      const { cursor } = request.query
      const page = { gameId: game.id, limit: PER_PAGE, ...(cursor ? { cursor } : {}) }
      const { jobs, nextCursor } = await app.blender.list(playerId, page)
      const names = await app.identity.players.namesOf([...new Set(jobs.map(({ ownerId }) => ownerId))])
      return renderPage(reply, {
        title: `Blender jobs of ${game.title}`,
        user: viewer,
        body: gameJobs(app, game, { jobs, nextCursor, names, cursor }),
      })
    },
  )
}

const PER_PAGE = 50

interface Shown {
  jobs: Job[]
  nextCursor: string | null
  names: ReadonlyMap<string, string>
  cursor: string | undefined
}

function gameJobs(app: FastifyInstance, game: Game, { jobs, nextCursor, names, cursor }: Shown): View {
  const path = jobsOf(game)
  const create = newJob({ game: game.slug })
  const isEmpty = jobs.length === 0 && !cursor
  return html`
    ${dashboardHeader(app, game, path, isEmpty ? undefined : html`<${Button} kind="act" href=${create}>New job<//>`)}
    ${
      isEmpty
        ? html`<${EmptyState} title="No Blender jobs yet" action=${{ href: create, label: 'Create a model' }}>
            <p>Choose a template below, or write a script of your own. Everybody who makes this game sees its jobs, downloads the results and goes on from them.</p>
          <//>`
        : html`<${Stack}>
            <p class="soft">Everybody who makes this game sees these, cancels them and goes on from them. What they store counts for the player who started them.</p>
            <${Table} caption=${`Blender jobs of ${game.title}`} columns=${columnsOf(names)} rows=${jobs} />
          <//>`
    }
    <${Pagination} label="Jobs" next=${nextCursor && `${path}?cursor=${nextCursor}`} first=${cursor && path} />
    ${templatesToUse(app.blender.templates.list(), game.slug)}`
}
