import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Type, { type Static } from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Button,
  Chip,
  CodeBlock,
  type Content,
  Field,
  Form,
  formatBytes,
  html,
  Pagination,
  Row,
  renderPage,
  Section,
  StepIndicator,
  Steps,
  Table,
  Timestamp,
  type Tone,
  type View,
} from '../../../core/pages/index.ts'
import { dashboardHeader, type Game, NEW_GAME_STEPS } from '../../games/index.ts'
import type { Deploy, DeployState } from '../schemas.ts'
import { isFinalized } from '../uploads/uploads.ts'
import { makerOf, overtook, replacementNote, rollbackForm, rolledBack } from './attribution.ts'
import { examined, warningsOf } from './build-notes.ts'
import { deployScript } from './deploy-script.ts'

const constraints = { origin: 'portal' } as const
const own = { config: { auth: 'session', page: true }, constraints } as const
const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const Query = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  restored: Type.Optional(Type.String({ maxLength: 30, description: 'The deploy that was live before, if any.' })),
  removed: Type.Optional(Type.String()),
  pinned: Type.Optional(Type.String()),
  unpinned: Type.Optional(Type.String()),
  unwrapped: Type.Optional(Type.String({ description: 'The archive had one folder, whose content was published.' })),
  replaced: Type.Optional(Type.String({ maxLength: 30, description: 'The deploy that went live meanwhile.' })),
  published: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,6}$',
      advice: 'Use a whole number.',
      description: 'How many files were left out.',
    }),
  ),
})

/** The deploy history on a game's dashboard. */
export const pages: Routes = async (app) => {
  app.get('/games/:slug/deploys', { ...own, schema: { params: Slug, querystring: Query } }, (request, reply) => {
    return showDeploys(app, request, reply, { slug: request.params.slug, query: request.query })
  })

  const Params = Type.Object({ ...Slug.properties, deployId: Type.String({ maxLength: 30 }) })
  app.post(
    '/games/:slug/deploys/:deployId/rollback',
    { ...own, schema: { params: Params } },
    async (request, reply) => {
      const { slug, deployId } = request.params
      const { playerId } = callerOf(request)
      const { liveDeployId: before } = await app.games.mustMake(playerId, slug)
      await app.deploys.rollback(playerId, deployId)
      const back = before && before !== deployId ? `=${before}` : ''
      return reply.redirect(`/games/${slug}/deploys?restored${back}`, 303)
    },
  )

  for (const [step, pinned] of [
    ['pin', true],
    ['unpin', false],
  ] as const) {
    app.post(
      `/games/:slug/deploys/:deployId/${step}`,
      { ...own, schema: { params: Params } },
      async (request, reply) => {
        const { slug, deployId } = request.params
        await app.deploys.pin(callerOf(request).playerId, deployId, pinned)
        return reply.redirect(`/games/${slug}/deploys?${step}ned`, 303)
      },
    )
  }

  app.post('/games/:slug/deploys/:deployId/delete', { ...own, schema: { params: Params } }, async (request, reply) => {
    const { slug, deployId } = request.params
    await app.deploys.remove(callerOf(request).playerId, deployId)
    return reply.redirect(`/games/${slug}/deploys?removed`, 303)
  })
}

/** The message after a step. */
async function doneOf(
  { restored, removed, pinned, unpinned, published, unwrapped, replaced }: Static<typeof Query>,
  {
    path,
    playerId,
    find,
  }: Pick<Context, 'path' | 'playerId'> & { find: (deployId: string) => Promise<Deploy | undefined> },
): Promise<Content> {
  if (restored !== undefined) return rolledBack(path, await find(restored), playerId)
  if (removed !== undefined) return 'That deploy is deleted.'
  if (pinned !== undefined) return 'That deploy is pinned: it stays, however many come after it.'
  if (unpinned !== undefined) return 'That deploy is no longer pinned.'
  if (published === undefined) return null
  const left = Number(published)
  const folder = unwrapped === undefined ? '' : ' The archive has one folder; its content is published.'
  const leftOut =
    left > 0 &&
    ` ${left === 1 ? 'One file was' : `${left} files were`} left out: secrets, dependencies, litter, or listed in .gameyardignore.`
  return html`Your build is live.${replaced && overtook(await find(replaced))}${folder}${leftOut}`
}

interface Shown {
  slug: string
  query: Static<typeof Query>
}

/** Renders the page. @throws NotFound when the game is not the caller's */
async function showDeploys(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  { slug, query }: Shown,
): Promise<string> {
  const { cursor } = query
  const { playerId, viewer } = callerOf(request)
  const game = await app.games.mustMake(playerId, slug)
  const page = await app.deploys.list(playerId, game.id, { limit: 20, ...(cursor ? { cursor } : {}) })
  const find = async (deployId: string): Promise<Deploy | undefined> => {
    const listed = page.deploys.find(({ id }) => id === deployId)
    if (listed) return listed
    const other = await app.deploys.get(playerId, deployId).catch((error) => {
      if (error instanceof NotFound) return undefined
      throw error
    })
    return other?.gameId === game.id ? other : undefined
  }
  const live = game.liveDeployId ? await find(game.liveDeployId) : undefined
  const published = query.published !== undefined
  const done = await doneOf(query, { path: `/games/${slug}/deploys`, playerId, find })
  return renderPage(reply, {
    title: `Deploys of ${game.title}`,
    user: viewer,
    scripts: ['upload-archive.js'],
    flash: done === null ? null : { message: html`${done}${published && warningsOf(live)}` },
    body: deploysPage(app, game, { ...page, cursor, published, live, playerId }),
  })
}

interface DeploysProps {
  deploys: Deploy[]
  nextCursor: string | null
  cursor: string | undefined
  /** A build has just gone live. */
  published: boolean
  /** The live deploy, whether it is listed on this page or not. */
  live: Deploy | undefined
  /** The viewer. */
  playerId: string
}

function deploysPage(
  app: Pick<FastifyInstance, 'games' | 'origins'>,
  game: Game,
  { deploys, nextCursor, cursor, published, live, playerId }: DeploysProps,
): View {
  const path = `/games/${game.slug}/deploys`
  const never = deploys.length === 0 && !cursor
  // The steps are shown until the first build has gone live. Then the last step, to play, remains.
  const first = deploys.length === 1 && !nextCursor && !cursor && published
  const step = never ? 1 : first ? 2 : null
  const history =
    !never &&
    html`<${Section} title="History" description=${html`The <a href=${`/games/${game.slug}/activity`}>activity</a> of the game says by which token or assistant each build came.`}>
      <${Table} caption=${`Deploys of ${game.title}`} columns=${columnsFor({ path, live, playerId })} rows=${deploys} />
      <${Pagination} label="Deploys" next=${nextCursor && `${path}?cursor=${nextCursor}`} first=${cursor && path} />
    <//>`
  return html`
    ${dashboardHeader(app, game, path, first && html`<${Button} kind="act" href=${`/games/${game.slug}`}>Play<//>`)}
    ${step !== null && html`<${StepIndicator} label="Publish a game" steps=${NEW_GAME_STEPS} current=${step} />`}
    <${Section} title=${never ? 'Publish the first build' : 'Publish another build'}
      description="Zip the folder with your index.html, or choose one HTML file. All files go live at the same instant. Players in the game keep their build.">
      ${uploadForm(path)}
    <//>
    ${history}
    <${Section} title="From your terminal" description="The platform's program is also its command line. It uploads changed files only.">
      ${instructions(app.origins.portal, game)}
    <//>`
}

/**
 * The form works without a script. The script adds drag and drop and progress. The server reads only the fields before
 * the file.
 */
const uploadForm = (path: string): View => html`
  <${Form} id="upload-archive" action=${path} multipart submit="Publish">
    <${Field} label="Message" name="message" required=${false} maxlength=${500} autocomplete="off" />
    <details class="more">
      <summary>The archive has a room script</summary>
      <${Field} label="Room script" name="room" required=${false} maxlength=${512} autocomplete="off"
        hint=${html`Its path in the archive, where <code>gameyard.json</code> does not name it.`} />
    </details>
    <div class="drop">
      <${Field} label="Zip archive or HTML file" name="archive" type="file" accept=".zip,application/zip,.html,.htm,text/html" required
        hint=${html`An HTML file is the whole game. Of an archive the server skips files such as <code>.git</code>, <code>.env</code>, <code>node_modules</code>, and the paths in <code>.gameyardignore</code>.`} />
    </div>
    <div class="progress" hidden>
      <progress max="1" value="0" aria-label="Upload"></progress>
      <p></p>
    </div>
  <//>`

interface Context {
  /** The address of the page. */
  path: string
  live: Deploy | undefined
  /** The viewer. */
  playerId: string
}

const columnsFor = (context: Context) => [
  {
    label: 'Deploy',
    cell: (deploy: Deploy) =>
      html`${deploy.message ?? 'No message'}<br /><code class="soft">${deploy.id}</code>${deploy.failure && html`<br /><span class="soft">${deploy.failure}</span>`}${examined(deploy)}`,
  },
  { label: 'By', cell: makerOf },
  {
    label: 'State',
    cell: (deploy: Deploy) =>
      html`<span>${stateChip(deploy)}${deploy.pinned && html` <${Chip}>pinned<//>`}${replacementNote(deploy)}</span>`,
  },
  {
    label: 'Files',
    cell: ({ files, bytes, room }: Deploy) =>
      html`<span>${files} · ${formatBytes(bytes)}${room && html`<br /><span class="soft">room script <code>${room}</code></span>`}</span>`,
  },
  { label: 'Started', cell: (deploy: Deploy) => html`<${Timestamp} at=${deploy.createdAt} />` },
  { label: 'Actions', action: true, cell: (deploy: Deploy) => actions(deploy, context) },
]

const actions = (deploy: Deploy, { path, live, playerId }: Context): Content => {
  const name = deploy.message ?? deploy.id
  const verb = deploy.preview ? 'Publish' : 'Roll back to'
  return html`<${Row}>
    ${deploy.previewUrl && html`<${Button} small href=${`${path}/${deploy.id}/preview`} label=${`Preview ${name}`}>Preview<//>`}
    ${isFinalized(deploy) && html`<${Button} small href=${archivePath(deploy)} label=${`Download ${name}`}>Download<//>`}
    ${
      deploy.state === 'superseded' &&
      rollbackForm({
        path,
        deploy,
        live,
        playerId,
        label: deploy.preview ? 'Publish' : 'Roll back',
        name: `${verb} ${name}`,
      })
    }
    ${
      (deploy.pinned || isFinalized(deploy)) &&
      html`<${Form} action=${`${path}/${deploy.id}/${deploy.pinned ? 'unpin' : 'pin'}`}><${Button} small label=${`${deploy.pinned ? 'Unpin' : 'Pin'} ${name}`}>${deploy.pinned ? 'Unpin' : 'Pin'}<//><//>`
    }
    ${
      deploy.state !== 'live' &&
      !deploy.pinned &&
      html`<${Form} action=${`${path}/${deploy.id}/delete`}><${Button} small kind="danger" label=${`Delete ${name}`}>Delete<//><//>`
    }
  <//>`
}

const archivePath = ({ gameId, id }: Deploy): string => `/api/games/${gameId}/deploys/${id}/archive`

const TONES: Record<DeployState, Tone> = {
  uploading: 'info',
  finalizing: 'info',
  live: 'success',
  superseded: 'info',
  failed: 'error',
  expired: 'warn',
}
const stateChip = (deploy: Deploy): View =>
  deploy.state === 'live'
    ? html`<${Chip} live>live<//>`
    : html`<${Chip} tone=${TONES[deploy.state]}>${deploy.preview ? 'preview' : deploy.state}<//>`

const instructions = (portal: string, game: Game): View => html`
  <${CodeBlock} title="Terminal" code=${`gameyard login --url ${portal}\ngameyard deploy dist --game ${game.slug}`} />
  <details class="more">
    <summary>Without that program, by plain HTTP</summary>
    <${Steps} items=${[
      {
        title: 'Get a token',
        body: html`<p>Create one under <a href="/settings/tokens">API tokens</a> with the scope <code>deployments:write</code>, and hand it to your terminal.</p>
        <${CodeBlock} code="export SERVICE_API_TOKEN=svc_api_…" />`,
      },
      {
        title: 'Deploy a folder',
        body: html`<p>Save this program as <code>deploy.mjs</code>. It is the whole HTTP API: announce, upload, finalize.</p>
        <${CodeBlock} title="deploy.mjs" code=${deployScript(portal, game.id)} />
        <${CodeBlock} title="Terminal" code="node deploy.mjs ./build" />`,
      },
    ]} /></details>`
