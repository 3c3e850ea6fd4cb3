import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../core/auth.ts'
import {
  Button,
  Chip,
  CodeBlock,
  type Content,
  Form,
  html,
  Pagination,
  renderPage,
  Section,
  Steps,
  Table,
  type Tone,
  type View,
  When,
} from '../../core/pages.ts'
import type { Routes } from '../../core/routes.ts'
import { dashboardHeader, type Game } from '../games/index.ts'
import { deployScript } from './deploy-script.ts'
import type { Deploy, DeployState } from './schemas.ts'

const constraints = { origin: 'portal' } as const
const own = { config: { auth: 'session', page: true }, constraints } as const
const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const Query = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  restored: Type.Optional(Type.String()),
})

/** The history of a game's deploys, on its dashboard. */
export const pages: Routes = async (app) => {
  app.get('/games/:slug/deploys', { ...own, schema: { params: Slug, querystring: Query } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const { cursor, restored } = request.query
    const game = await app.games.mustOwn(playerId, request.params.slug)
    const page = await app.deploys.list(playerId, game.id, { limit: 20, ...(cursor ? { cursor } : {}) })
    return renderPage(reply, {
      title: `Deploys of ${game.title}`,
      user: viewer,
      flash: restored === undefined ? null : { message: 'That deploy is live again.' },
      body: deploysPage(app, game, { ...page, cursor }),
    })
  })

  const Params = Type.Object({ ...Slug.properties, deployId: Type.String({ maxLength: 30 }) })
  app.post(
    '/games/:slug/deploys/:deployId/rollback',
    { ...own, schema: { params: Params } },
    async (request, reply) => {
      const { slug, deployId } = request.params
      await app.deploys.rollback(callerOf(request).playerId, deployId)
      return reply.redirect(`/games/${slug}/deploys?restored`, 303)
    },
  )
}

function deploysPage(
  app: Pick<FastifyInstance, 'games' | 'origins'>,
  game: Game,
  { deploys, nextCursor, cursor }: { deploys: Deploy[]; nextCursor: string | null; cursor: string | undefined },
): View {
  const path = `/games/${game.slug}/deploys`
  const never = deploys.length === 0 && !cursor
  return html`
    ${dashboardHeader(app, game, path)}
    ${!never && html`<${Table} caption=${`Deploys of ${game.title}`} columns=${columnsFor(path)} rows=${deploys} />`}
    <${Pagination} label="Deploys" next=${nextCursor && `${path}?cursor=${nextCursor}`} first=${cursor && path} />
    <${Section} title=${never ? 'Publish the first build' : 'Publish another build'}
      description=${never ? 'A build is a folder with an index.html. It goes live all at once, a minute from now.' : 'Only what has changed is uploaded.'}>
      ${instructions(app.origins.portal, game)}
    <//>`
}

const columnsFor = (path: string) => [
  {
    label: 'Deploy',
    cell: (deploy: Deploy) => html`${deploy.message ?? 'No message'}<br /><code class="soft">${deploy.id}</code>`,
  },
  { label: 'State', cell: (deploy: Deploy) => stateChip(deploy.state) },
  { label: 'Files', cell: (deploy: Deploy) => `${deploy.files} · ${sizeOf(deploy.bytes)}` },
  { label: 'Begun', cell: (deploy: Deploy) => html`<${When} at=${deploy.createdAt} />` },
  { label: 'Actions', action: true, cell: (deploy: Deploy) => rollbackButton(path, deploy) },
]

const rollbackButton = (path: string, deploy: Deploy): Content =>
  deploy.state === 'superseded' &&
  html`<${Form} action=${`${path}/${deploy.id}/rollback`}><${Button} small label=${`Roll back to ${deploy.message ?? deploy.id}`}>Roll back<//><//>`

const TONES: Record<DeployState, Tone> = {
  uploading: 'info',
  finalizing: 'info',
  live: 'success',
  superseded: 'info',
  failed: 'error',
  expired: 'warn',
}
const stateChip = (state: DeployState): View =>
  state === 'live' ? html`<${Chip} live>live<//>` : html`<${Chip} tone=${TONES[state]}>${state}<//>`

const instructions = (portal: string, game: Game): View => html`
  <${Steps} items=${[
    {
      title: 'Get a token',
      body: html`<p>Make one in <a href="/settings/tokens">your settings</a> with the scope <code>deployments:write</code>, and hand it to your terminal.</p>
        <${CodeBlock} code="export SERVICE_API_TOKEN=svc_api_…" />`,
    },
    {
      title: 'Deploy a folder',
      body: html`<p>Save this program as <code>deploy.mjs</code>. It is the whole HTTP API: announce, upload, finalize.</p>
        <${CodeBlock} title="deploy.mjs" code=${deployScript(portal, game.id)} />
        <${CodeBlock} title="Terminal" code="node deploy.mjs ./build" />`,
    },
  ]} />`

const units = ['bytes', 'kB', 'MB', 'GB']

/** A size in bytes for people: `1.2 MB`. */
function sizeOf(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`
}
