// A platform on which somebody has one private thing of each kind, and everybody else who may come for it.
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RouteOptions } from 'fastify'
import type { Test } from 'tap'
import type { RouteEntry } from '../../../core/http/routes.ts'
import { definePlugin, type Plugin } from '../../../core/plugin.ts'
import { WorkerRow } from '../../../plugins/blender/entities.ts'
import { plugins as builtins } from '../../../plugins/index.ts'
import { registerApp, type TestApp } from '../../kit/oauth.ts'
import { type Answer, Client, type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { sheet } from '../../plugins/assets/models.ts'

/** Whoever asks beside the owner, in the order of the table's columns. A further role is a word here, a column there. */
export const CALLERS = [
  'nobody',
  'guest',
  'player',
  'other owner',
  'moderator',
  'administrator',
  'maker',
  'tester',
  'former maker',
] as const
export type Caller = (typeof CALLERS)[number]

/** Stands in everything private that the owner wrote, and in nothing that anybody else may read. */
export const SECRET = /Zanzibar|zanzibar@/
const secret = (what: string) => `${what} of Zanzibar`

/** Somebody who has one private thing of each kind. */
export interface Owner {
  browser: PlayerClient
  program: Client
  game: { id: string; slug: string }
  application: TestApp
  deployId: string
  sha256: string
  tokenId: string
  sessionId: string
  assetId: string
  jobId: string
  generationId: string
  /** What everybody may see, and only the owner change. */
  published: { gameId: string; deployId: string; assetId: string } | null
}

type Settle = (player: PlayerClient, path?: string) => Promise<Owner>

export class World {
  readonly platform: Platform
  /** Every route with its schemas. */
  readonly routes: readonly RouteOptions[]
  readonly owner: Owner
  readonly #settle: Settle
  /** The players who made a game once. */
  readonly #former = new Set<string>()
  readonly #clients = new Map<Caller, { browser: Client; program: Client; doubtful: boolean }>()

  constructor(platform: Platform, routes: readonly RouteOptions[], owner: Owner, settle: Settle) {
    this.platform = platform
    this.routes = routes
    this.owner = owner
    this.#settle = settle
  }

  /** The browser of a caller, who is signed in, and their program, which has a token; whatever was asked before. */
  async as(caller: Caller): Promise<{ browser: Client; program: Client }> {
    if (caller === 'nobody') return { browser: new Client(this.platform.app), program: new Client(this.platform.app) }
    const known = this.#clients.get(caller)
    if (known && (!known.doubtful || (await bothWork(known)))) {
      known.doubtful = false
      return known
    }
    const browser = await this.#signIn(caller)
    const program = await this.platform.program(browser as PlayerClient)
    const clients = { browser, program, doubtful: false }
    this.#clients.set(caller, clients)
    return clients
  }

  /** Asks a route that reads about what the owner has: as the owner, or as an administrator where only those may. */
  async read({ url: path, origin, accepts }: RouteEntry): Promise<Answer> {
    const { url, options } = addressOf(this, this.owner, path, origin)
    const takesSession = accepts.length === 0 || accepts.includes('session')
    const { browser, program } = path.startsWith('/admin') ? await this.as('administrator') : this.owner
    return (takesSession ? browser : program).get(url, options)
  }

  /** Makes a caller what their word says in the game of an owner. */
  async enlist(caller: Caller, { browser, game }: Owner): Promise<void> {
    if (caller !== 'maker' && caller !== 'tester' && caller !== 'former maker') return
    const { browser: player } = await this.as(caller)
    const { games } = this.platform.app
    const role = caller === 'tester' ? 'tester' : 'maker'
    const { id } = player as PlayerClient
    const found = await games.byId(game.id)
    const isSo =
      caller === 'former maker' ? this.#former.has(`${id} ${game.id}`) : found && games.roleOf(id, found) === role
    if (!found || isSo) return
    const { url } = await games.memberInvitations.create(browser.id, game.id, { role })
    const [invitation, key] = new URL(url).pathname.split('/').slice(-2) as [string, string]
    await games.memberInvitations.accept(id, invitation, key)
    if (caller !== 'former maker') return
    await games.members.remove(browser.id, game.id, id)
    this.#former.add(`${id} ${game.id}`)
  }

  /** Says that a caller may have ended their own session or token. */
  doubt(caller: Caller): void {
    const known = this.#clients.get(caller)
    if (known) known.doubtful = true
  }

  /** Somebody with things of their own, for one use: those that a path is about, or all. */
  async bystander(path?: string): Promise<Owner> {
    return this.#settle(await this.platform.signUp(), path)
  }

  async #signIn(caller: Caller): Promise<Client> {
    const { platform } = this
    if (caller === 'guest') {
      const guest = new Client(platform.app)
      await guest.post('/api/auth/guest', { name: 'Guest' })
      return guest
    }
    const player = await platform.signUp()
    if (caller === 'other owner') await this.#settle(player)
    if (caller === 'moderator')
      await platform.app.db.execute('update players set moderator = ? where id = ?', [true, player.id])
    if (caller === 'administrator')
      await platform.app.db.execute('update players set is_admin = ? where id = ?', [true, player.id])
    return player
  }

  /** What the owner has, as the owner sees it, without what looking at it changes. */
  async belongings(): Promise<unknown[]> {
    const { owner, platform } = this
    const urls = [
      '/api/games',
      '/api/oauth/apps',
      '/api/tokens',
      '/api/assets?owner=me',
      `/api/assets?gameId=${owner.game.id}`,
      '/api/blender/v1/jobs',
      `/api/blender/v1/jobs?gameId=${owner.game.id}`,
      `/api/games/${owner.game.id}/deploys`,
      `/api/games/${owner.game.id}/domains`,
      '/api/auth/session',
      `/api/games/${owner.game.id}/boards`,
      `/api/games/${owner.game.id}/boards/fastest/scores`,
      ...(owner.published ? [`/api/games/${owner.published.gameId}/deploys`] : []),
      ...(owner.published ? [`/api/games/${owner.published.gameId}/boards/fastest/scores`] : []),
      `/api/generations/${owner.generationId}`,
    ]
    const answers = await Promise.all(urls.map((url) => owner.browser.get(url)))
    const sessions = await platform.app.identity.sessions.list(owner.browser.id)
    const credits = await owner.program.get('/api/ai/credits')
    const seen = [...answers.map(({ status, body }) => [status, body]), credits.body, sessions.length]
    return JSON.parse(
      JSON.stringify(seen, (key, value) => (/^(lastUsedAt|stats|queuePosition|makers)$/.test(key) ? 0 : value)),
    )
  }
}

const bothWork = async ({ browser, program }: { browser: Client; program: Client }) =>
  (await browser.get('/api/auth/session')).body.signedIn && (await program.get('/api/cli/whoami')).status === 200

/**
 * Starts the platform with its people.
 *
 * @param options.config sections beside those of this world
 * @param options.plugins plugins that see every request
 * @param options.listen whether it listens on a real socket too
 */
export async function inhabit(
  t: Test,
  {
    config: sections = {},
    plugins = [],
    listen = false,
  }: { config?: Record<string, unknown>; plugins?: Plugin[]; listen?: boolean } = {},
): Promise<World> {
  const routes: RouteOptions[] = []
  const observer = definePlugin({ name: 'observer' }, async (app) => {
    app.addHook('onRoute', (route) => void routes.push(route))
  })
  const config = { auth: { guests: true }, ...sections }
  const platform = await startPlatform(t, { config, listen, only: [], plugins: [observer, ...plugins, ...builtins] })
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-access-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const model = join(folder, 'model.glb')
  writeFileSync(model, await sheet(2))
  // A job needs a worker to be taken; nobody runs it.
  const worker = { id: 'wrk_elsewhere', executor: 'subprocess', capacity: 1, blenderVersion: '4.2.0' }
  await platform.app.db.em().insert(WorkerRow, { ...worker, seenAt: platform.app.clock.now() })
  // A stream that goes on for ever would be waited for: each says how things are and ends.
  platform.app.eventStreams.close()
  const settle: Settle = (player, path) => settleWith(platform, player, { model, path })
  const owner = await platform.signUp({ email: 'zanzibar@example.org' })
  const things = await settle(owner)
  const { game, deployId } = await publish(platform, things.program, { titled: (what) => what, visibility: 'public' })
  const assetId = await upload(platform, owner, { model, titled: (what) => what, visibility: 'public' })
  const published = { gameId: game.id, deployId, assetId }
  return new World(platform, routes, { ...things, published }, settle)
}

async function settleWith(
  platform: Platform,
  player: PlayerClient,
  { model, path }: { model: string; path: string | undefined },
): Promise<Owner> {
  const { app } = platform
  const isVictim = player.account.email.startsWith('zanzibar')
  const titled = (what: string) => (isVictim ? secret(what) : what)
  const needs = (about: RegExp) => path === undefined || about.test(path)
  const program = await platform.program(player)
  const { body: token } = await player.post('/api/tokens', { label: titled('Token'), scopes: ['games:read'] })
  const application = await registerApp(platform, player)
  const [session] = await app.identity.sessions.list(player.id)
  const made = needs(/game|approval|deploy|jam|domain|asset|blender|generation|\/service\//)
    ? await publish(platform, program, { titled })
    : NO_GAME
  return {
    browser: player,
    program,
    application,
    published: null,
    tokenId: token.id,
    sessionId: session?.id ?? NOWHERE,
    ...made,
    assetId: needs(/asset/)
      ? await upload(platform, player, { model, titled, gameId: made.game.id, isPrepared: path === undefined })
      : NOWHERE,
    ...(needs(/blender|generation/) ? await make(platform, player, { titled, gameId: made.game.id }) : NO_JOBS),
  }
}

const NOWHERE = 'nowhere'
const NO_GAME = { game: { id: NOWHERE, slug: NOWHERE }, deployId: NOWHERE, sha256: NOWHERE }
const NO_JOBS = { jobId: NOWHERE, generationId: NOWHERE }
type Titled = (what: string) => string
interface About {
  titled: Titled
  visibility?: 'public' | 'private'
}

/** A game with a live deploy. */
async function publish(platform: Platform, program: Client, { titled, visibility = 'private' }: About) {
  const { body: game, ...made } = await program.post('/api/games', {
    title: titled('Game'),
    description: titled('Description'),
    visibility,
  })
  if (made.status !== 201) throw new Error(`The game was answered with ${made.status}: ${made.text}`)
  const board = await program.put(`/api/games/${game.id}/boards/fastest`, { title: titled('Board') })
  if (board.status !== 201) throw new Error(`The board was answered with ${board.status}: ${board.text}`)
  const score = { gameId: game.id, boardId: 'fastest', playerId: game.ownerId, score: 1, detail: titled('Detail') }
  await platform.app.scores.submit({ ...score, writer: 'room' })
  const bytes = titled('Bytes')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const files = [{ path: 'index.html', size: bytes.length, sha256 }]
  const { body: deploy } = await program.post('/api/deploy', { gameId: game.id, files, message: titled('Message') })
  for (const { uploadUrl, headers } of deploy.uploads) {
    const { pathname, search } = new URL(uploadUrl)
    const stored = await platform.stranger.request('PUT', pathname + search, bytes, { headers })
    if (stored.status >= 300) throw new Error(`The upload was answered with ${stored.status}: ${stored.text}`)
  }
  const live = await program.post(`/api/deploy/${deploy.deployId}/finalize`)
  if (live.status !== 200) throw new Error(`The deploy was answered with ${live.status}: ${live.text}`)
  return { game: { id: game.id, slug: game.slug }, deployId: deploy.deployId as string, sha256 }
}

async function upload(
  { app }: Platform,
  player: PlayerClient,
  {
    model,
    titled,
    visibility = 'private',
    gameId,
    isPrepared = true,
  }: About & { model: string; gameId?: string; isPrepared?: boolean },
): Promise<string> {
  const about = {
    title: titled('Asset'),
    description: titled('Description'),
    visibility,
    ...(gameId ? { gameId } : {}),
  }
  const { id } = await app.assets.create(player.id, about, { path: model, name: 'model.glb' })
  // What is made of it in the background is there before anybody looks.
  if (isPrepared) await app.assets.preparation.run(id, new AbortController().signal)
  return id
}

/** A job that is over, and a generation whose job waits. */
async function make({ app }: Platform, player: PlayerClient, { titled, gameId }: { titled: Titled; gameId: string }) {
  const { id: jobId } = await app.blender.submit(player.id, { name: titled('Job'), template: 'prop', gameId })
  await app.blender.cancel(player.id, jobId)
  const making = { provider: 'blender', name: titled('Generation'), template: 'prop', gameId }
  return { jobId, generationId: (await app.generatedAssets.start(player.id, making)).id }
}

/** What the parameters of a route's path mean, when it is about what the owner has. */
export function parametersOf(owner: Owner, path: string): Record<string, string> {
  const ids: [about: RegExp, id: string][] = [
    [/^\/(api\/oauth\/apps|settings\/applications)/, owner.application.id],
    [/^\/(api|settings)\/tokens/, owner.tokenId],
    [/^\/settings\/sessions/, owner.sessionId],
    [/^\/api\/blender\/v1\/library/, 'coin-gold'],
    [/^(\/api)?\/assets/, owner.assetId],
    [/^(\/api)?\/blender/, owner.jobId],
    [/^\/api\/generations/, owner.generationId],
    [/^(\/admin)?\/(players|invitations)/, owner.browser.id],
    [/^\/admin\/(jobs|domains)/, 'nowhere'],
  ]
  return {
    id: ids.find(([about]) => about.test(path))?.[1] ?? owner.game.id,
    slug: owner.game.slug,
    gameId: owner.game.id,
    deployId: owner.deployId,
    sha256: owner.sha256,
    playerId: owner.browser.id,
    clientId: owner.application.clientId,
    token: 'x'.repeat(43),
    key: 'x'.repeat(22),
    file: 'model.glb',
    roomId: 'lobby',
    provider: 'github',
    mediaId: 'med_nowhere',
    invitationId: 'inv_nowhere',
    categoryId: 'overall',
    jamId: 'jam_nowhere',
    preset: 'walk',
    purchaseId: 'pur_nowhere',
    name: 'model.glb',
    part: '1.xml',
    path: 'game.js',
    group: 'games',
    board: 'fastest',
    boardId: 'fastest',
    ...(/^(\/admin)?\/assets\/:slug|^\/admin\/assets/.test(path) ? { slug: owner.assetId } : {}),
  }
}

/** Where a route is asked about what the owner has. */
export function addressOf({ platform }: World, owner: Owner, path: string, origin: string) {
  const things = parametersOf(owner, path)
  const url = path
    .replace(/\(\^.*?\)$/, '')
    .replace('*', '')
    .replace(/:(\w+)/g, (_, name) => {
      const thing = things[name]
      if (thing === undefined) throw new Error(`world.ts has no ${name} for ${path}.`)
      return thing
    })
  return { url, options: origin === 'game' ? { host: platform.gameHost(owner.game.slug) } : {} }
}
