// Simulates years of a platform's history in minutes: it inserts rows as the services would, month by month on a
// simulated clock, and runs all periodic jobs after each month. For bench/data-growth.ts and the long test of the same
// name.
import { createHash, randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import type { FastifyInstance } from 'fastify'
import { loadConfig } from '../config/load.ts'
import type { Clock } from '../core/clock.ts'
import { folderSource } from '../core/data/built-files.ts'
import { newId } from '../core/ids.ts'
import { createKernel } from '../core/kernel.ts'
import { createLog } from '../core/observe/log.ts'
import { families } from '../drivers/index.ts'
import { plugins } from '../plugins/index.ts'

const DAY_MS = 86_400_000
const DAYS_A_MONTH = 30

/** The number of entities at the end, or the total over time. */
export interface Size {
  months: number
  players: number
  games: number
  /** At least half of these include a sign-in to the game. */
  plays: number
  /** Deploys per day of all games together. */
  deploysADay: number
  blenderJobs: number
}

/** A statement that blocked the only write connection, and with it the event loop. */
export interface Hold {
  /** The CPU time, which other work on the machine does not change. */
  cpuMs: number
  ms: number
  what: string
}

export interface SimulatedHistory {
  app: FastifyInstance
  /** The administrator, who owns the first thirty games. */
  account: { email: string; password: string }
  /** The total number of written rows. */
  written: number
  /** The longest blocking statements of periodic jobs, the longest first. */
  holds: Hold[]
}

/**
 * Creates a platform of that size in a folder for `gameyard serve`. The simulated clock ends at the current time. Rows
 * that retention would have deleted long before are not written at all (`GONE_AFTER_DAYS`).
 */
export async function simulateHistory(
  folder: string,
  size: Size,
  tell: (line: string) => void,
): Promise<SimulatedHistory> {
  const clock = new MovableClock(Date.now() - size.months * DAYS_A_MONTH * DAY_MS)
  const env = {
    SERVICE_LIMITS__RATE_LIMITS: 'false',
    SERVICE_LIMITS__GAMES_PER_PLAYER: '1000000',
    SERVICE_BLENDER__DRIVER: 'none',
    SERVICE_DATABASE__DURABILITY: 'normal',
  }
  const { config, plugins: chosen, drivers } = await loadConfig({ cwd: folder, env, families, plugins })
  const browserFiles = folderSource(resolve(import.meta.dirname, '../dist/browser'))
  const log = createLog('warn')
  const app = await createKernel(config, { plugins: chosen, drivers, browserFiles, version: 'bench', log, clock })
  await app.ready()
  const account = { email: 'ada@example.org', password: 'correct horse battery fence' }
  const { id: admin } = await app.identity.players.createByHost({ ...account, name: 'Ada' }, 'admin')
  const rows = new Rows(app)
  const players = await makePlayers(rows, size, clock)
  const games = await makeGames(app, size, admin)
  await publish(rows, games, clock)
  const watch = watchHolds()
  for (let month = 1; month <= size.months; month++) {
    const began = performance.now()
    watch.pause()
    await writeMonth(rows, { size, players, games, clock, month })
    const written = performance.now()
    watch.resume()
    clock.advance(DAYS_A_MONTH * DAY_MS)
    await allPeriodicDone(app, clock)
    const took = (from: number, to: number) => `${((to - from) / 1000).toFixed(1)} s`
    if (month % 6 === 0 || month === size.months)
      tell(`month ${month}: written in ${took(began, written)}, periodic jobs took ${took(written, performance.now())}`)
  }
  const holds = watch.end()
  await app.db.execute(`update games set
    plays = (select coalesce(sum(d.plays), 0) from game_days d where d.game_id = games.id),
    sign_ins = (select coalesce(sum(d.sign_ins), 0) from game_days d where d.game_id = games.id)`)
  return { app, account, written: rows.written, holds }
}

class MovableClock implements Clock {
  #offset: number
  readonly #began = Date.now()

  constructor(at: number) {
    this.#offset = at - this.#began
  }

  now(): Date {
    return new Date(Date.now() + this.#offset)
  }

  advance(ms: number): void {
    this.#offset = Math.min(0, this.#offset + ms)
  }
}

/**
 * The days after which retention has deleted a row: its retention time plus at least a month, so that a month of rows
 * is swept.
 */
const GONE_AFTER_DAYS: Record<string, number> = {
  game_visitors: 60,
  authorization_codes: 90,
  oauth_access_tokens: 60,
  oauth_refresh_tokens: 90,
  frame_tickets: 60,
  sessions: 90,
  one_time_tokens: 60,
  idempotent_answers: 60,
  background_jobs: 90,
  blender_jobs: 90,
  blender_generations: 90,
  api_tokens: 240,
  oauth_sign_ins: 460,
  deploys: 300,
  deploy_manifests: 300,
  blobs: 300,
  owner_blobs: 300,
  blob_variants: 300,
}

type Value = string | number | null

/** Writes rows of any table. Columns that are not named get an empty value. */
class Rows {
  written = 0
  readonly #app: FastifyInstance
  readonly #tables = new Map<string, { name: string; notnull: number; type: string }[]>()

  constructor(app: FastifyInstance) {
    this.#app = app
  }

  /** @param daysLeft days until the end; omits rows that are deleted by then and were not there for the last sweeps */
  async add(table: string, rows: Record<string, Value>[], daysLeft = 0): Promise<void> {
    if (rows.length === 0 || daysLeft > (GONE_AFTER_DAYS[table] ?? Number.POSITIVE_INFINITY)) return
    const columns = this.#tables.get(table) ?? (await this.#app.db.query(`pragma table_info(${table})`))
    this.#tables.set(table, columns as never)
    const all = columns as { name: string; notnull: number; type: string }[]
    for (const name of Object.keys(rows[0] as object))
      if (!all.some((column) => column.name === name)) throw new Error(`${table} has no column ${name}.`)
    const sql = `insert or ignore into ${table} (${all.map(({ name }) => `"${name}"`).join(', ')})
      values (${all.map(() => '?').join(', ')})`
    for (let from = 0; from < rows.length; from += 2000) {
      await this.#app.db.groupCommit(async ({ execute }) => {
        for (const row of rows.slice(from, from + 2000)) {
          const empty = ({ notnull, type }: { notnull: number; type: string }) =>
            !notnull ? null : type === 'json' ? '[]' : type === 'text' ? '' : 0
          await execute(
            sql,
            all.map((column) => row[column.name] ?? empty(column)),
          )
        }
      })
    }
    this.written += rows.length
  }

  async setLiveDeploys(games: readonly { id: string; deployId: string }[]): Promise<void> {
    await this.#app.db.groupCommit(async ({ execute }) => {
      for (const { id, deployId } of games)
        await execute('update games set live_deploy_id = ? where id = ?', [deployId, id])
    })
  }
}

const digest = (bytes = 32): string => randomBytes(bytes).toString('base64url')
const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item
const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))
const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

async function makePlayers(rows: Rows, { players }: Size, clock: Clock): Promise<string[]> {
  const now = clock.now()
  const ids = times(players, () => newId('ply', now))
  await rows.add(
    'players',
    ids.map((id, number) => ({
      id,
      email: `player${number}@example.org`,
      name: `Player ${number}`,
      created_at: now.getTime(),
      password_hash: '$argon2id$',
    })),
  )
  await rows.add(
    'credit_accounts',
    ids.map((id) => ({ player_id: id, balance: 100, welcomed: 1 })),
  )
  return ids
}

interface Made {
  id: string
  clientId: string
  ownerId: string
}

async function makeGames(app: FastifyInstance, { games }: Size, ownerId: string): Promise<Made[]> {
  const made: Made[] = []
  for (let number = 0; number < games; number++) {
    const game = await app.games.create(ownerId, {
      title: `Game ${number} of the platform`,
      description: 'A game that is played for years.',
      tags: [`tag-${number % 40}`],
    })
    made.push({ id: game.id, clientId: game.clientId, ownerId })
  }
  // Other players own all games but one page of them.
  await app.db.execute(
    'update games set owner_id = (select id from players where is_admin = 0 order by id limit 1) where id > ?',
    [made[29]?.id ?? ''],
  )
  return made
}

/** Gives nine of ten games a playable deploy from the beginning. */
async function publish(rows: Rows, games: readonly Made[], clock: Clock): Promise<void> {
  const at = clock.now().getTime()
  const published = games
    .filter((_, index) => index % 10 < 9)
    .map(({ id, ownerId }) => ({ id, ownerId, deployId: newId('dep', new Date(at)) }))
  await rows.add(
    'deploys',
    published.map(({ id, ownerId, deployId }) => ({
      id: deployId,
      game_id: id,
      owner_id: ownerId,
      state: 'live',
      file_count: 3,
      total_bytes: 300_000,
      created_at: at,
      expires_at: at + DAY_MS,
      live_at: at,
    })),
  )
  await rows.add(
    'deploy_manifests',
    published.map(({ deployId }) => ({
      deploy_id: deployId,
      files: manifestOf(times(3, () => randomBytes(32).toString('hex'))),
    })),
  )
  await rows.setLiveDeploys(published)
}

const manifestOf = (digests: readonly string[]): string =>
  JSON.stringify(digests.map((sha256, index) => [`assets/file-${index}.js`, sha256, 100_000, 'text/javascript']))

interface Month {
  size: Size
  players: string[]
  games: Made[]
  clock: Clock
  month: number
}

interface Day extends Month {
  daysLeft: number
}

/** Writes the rows of thirty successive days. */
async function writeMonth(rows: Rows, month: Month): Promise<void> {
  const from = month.clock.now().getTime()
  const end = (month.size.months - month.month + 1) * DAYS_A_MONTH
  for (let day = 0; day < DAYS_A_MONTH; day++)
    await writeDay(rows, { ...month, daysLeft: end - day }, from + day * DAY_MS)
}

async function writeDay(rows: Rows, { size, players, games, daysLeft }: Day, from: number): Promise<void> {
  const days = size.months * DAYS_A_MONTH
  const date = dateOf(from)
  const somewhen = () => from + Math.floor(Math.random() * DAY_MS)
  const plays = times(Math.ceil(size.plays / days), () => ({ game: pick(games), player: pick(players) }))
  await rows.add(
    'game_days',
    plays.map(({ game }) => ({ game_id: game.id, date, plays: 3, unique_players: 2, sign_ins: 1, peak_players: 2 })),
    daysLeft,
  )
  await rows.add(
    'game_visitors',
    plays.map(({ game }) => ({ date, game_id: game.id, visitor: digest(16) })),
    daysLeft,
  )
  const signedIn = plays.filter((_, index) => index % 2 === 0)
  await rows.add(
    'oauth_sign_ins',
    signedIn.map(({ game, player }) => ({ client_id: game.clientId, date, player_id: player, count: 1 })),
    daysLeft,
  )
  await rows.add(
    'oauth_consents',
    signedIn.map(({ game, player }) => ({
      player_id: player,
      client_id: game.clientId,
      id: newId('con', new Date(from)),
      scope: 'profile',
      created_at: from,
      updated_at: from,
    })),
    daysLeft,
  )
  const grants = signedIn.map(({ game, player }) => ({
    client_id: game.clientId,
    player_id: player,
    consent_id: 'none',
    scope: 'profile',
    at: somewhen(),
    grant: digest(),
  }))
  await rows.add(
    'authorization_codes',
    grants.map(({ at, grant, ...of }) => ({
      ...of,
      code_hash: grant,
      redirect_uri: 'https://game.example/callback',
      auth_time: at,
      expires_at: at + 60_000,
      redeemed_at: at,
    })),
    daysLeft,
  )
  await rows.add(
    'oauth_access_tokens',
    grants.map(({ at, grant, ...of }) => ({
      ...of,
      id: newId('oat', new Date(at)),
      token_hash: digest(),
      grant_id: grant,
      expires_at: at + 3_600_000,
    })),
    daysLeft,
  )
  await rows.add(
    'oauth_refresh_tokens',
    grants
      .filter((_, index) => index % 5 === 0)
      .map(({ at, grant, ...of }) => ({
        ...of,
        token_hash: digest(),
        grant_id: grant,
        auth_time: at,
        expires_at: at + 30 * DAY_MS,
      })),
    daysLeft,
  )
  await rows.add(
    'frame_tickets',
    signedIn.map(({ game, player }) => ({
      ticket_hash: digest(),
      purpose: 'cookie',
      player_id: player,
      consent_id: 'none',
      game_id: game.id,
      host: 'game.localhost',
      expires_at: somewhen(),
    })),
    daysLeft,
  )
  await rows.add(
    'sessions',
    times(Math.ceil(players.length / 30), () => {
      const at = somewhen()
      return {
        id: newId('ses', new Date(at)),
        token_hash: digest(),
        player_id: pick(players),
        user_agent: 'Mozilla/5.0 (X11; Linux x86_64) of a simulation',
        created_at: at,
        last_seen_at: at,
        expires_at: at + 30 * DAY_MS,
      }
    }),
    daysLeft,
  )
  await rows.add(
    'one_time_tokens',
    times(Math.ceil(players.length / 100), () => ({
      id: newId('ott', new Date(somewhen())),
      token_hash: digest(),
      purpose: 'reset',
      player_id: pick(players),
      created_at: from,
      expires_at: somewhen(),
    })),
    daysLeft,
  )
  await rows.add(
    'api_tokens',
    times(Math.ceil(players.length / 300), () => ({
      id: newId('tok', new Date(somewhen())),
      token_hash: digest(),
      player_id: pick(players),
      kind: 'api',
      label: 'of a program',
      prefix: 'svc_api_1234',
      scopes: 'games:read games:write',
      created_at: from,
      expires_at: from + 90 * DAY_MS,
    })),
    daysLeft,
  )
  await rows.add(
    'idempotent_answers',
    times(Math.ceil(players.length / 50), () => ({
      id: randomBytes(32).toString('hex'),
      body_digest: digest(),
      status: 200,
      created_at: somewhen(),
    })),
    daysLeft,
  )
  await rows.add(
    'background_jobs',
    times(2, () => ({
      id: newId('bgj', new Date(somewhen())),
      name: 'mail/send',
      payload: '{}',
      state: 'failed',
      attempts: 5,
      error: 'The mail server does not answer.',
      created_at: from,
    })),
    daysLeft,
  )
  const generations = times(Math.ceil(players.length / 50), () => ({
    id: newId('gen', new Date(somewhen())),
    player: pick(players),
  }))
  await rows.add(
    'ai_generations',
    generations.map(({ id, player }) => ({
      id,
      player_id: player,
      game_id: pick(games).id,
      type: 'text',
      model: 'model',
      credits: 1,
      date,
      created_at: from,
    })),
    daysLeft,
  )
  await rows.add(
    'credit_ledger',
    generations.map(({ id, player }) => ({
      id: newId('led', new Date(from)),
      player_id: player,
      amount: -1,
      kind: 'usage',
      description: 'A generation',
      key: `generation/${id}`,
      created_at: from,
    })),
    daysLeft,
  )
  await writeDeploys(rows, { size, games, daysLeft }, from)
  await rows.add(
    'blender_jobs',
    times(Math.ceil(size.blenderJobs / days), () => {
      const at = somewhen()
      return {
        id: newId('job', new Date(at)),
        owner_id: pick(players),
        purpose: 'job',
        name: 'A crate',
        action: 'script',
        status: 'completed',
        parameters: '{}',
        queued_at: at,
        started_at: at,
        finished_at: at + 4000,
      }
    }),
    daysLeft,
  )
  await rows.add(
    'blender_generations',
    times(Math.ceil(size.blenderJobs / days / 4), () => ({
      id: newId('gen', new Date(somewhen())),
      owner_id: pick(players),
      status: 'completed',
      name: 'A crate',
      parameters: '{}',
      visibility: 'private',
      created_at: from,
    })),
    daysLeft,
  )
}

/** Writes deploys. Each replaces two of three files, and some fail. */
async function writeDeploys(
  rows: Rows,
  { size, games, daysLeft }: Pick<Day, 'size' | 'games' | 'daysLeft'>,
  from: number,
): Promise<void> {
  const deploys = times(size.deploysADay, (index) => {
    const at = from + Math.floor((index / size.deploysADay) * DAY_MS)
    const { id: gameId, ownerId } = games[(Math.floor(from / DAY_MS) * size.deploysADay + index) % games.length] as Made
    const same = createHash('sha256').update(gameId).digest('hex')
    const digests = [same, ...times(2, () => randomBytes(32).toString('hex'))]
    return { id: newId('dep', new Date(at)), gameId, ownerId, at, digests, failed: index % 20 === 0 }
  })
  await rows.add(
    'deploys',
    deploys.map(({ id, gameId, ownerId, at, failed }) => ({
      id,
      game_id: gameId,
      owner_id: ownerId,
      state: failed ? 'failed' : 'superseded',
      file_count: 3,
      total_bytes: 300_000,
      created_at: at,
      expires_at: at + DAY_MS,
      live_at: failed ? null : at,
    })),
    daysLeft,
  )
  await rows.add(
    'deploy_manifests',
    deploys.map(({ id, digests }) => ({
      deploy_id: id,
      files: manifestOf(digests),
    })),
    daysLeft,
  )
  const blobs = deploys.flatMap(({ digests, at, ownerId }) => digests.map((sha256) => ({ sha256, at, ownerId })))
  await rows.add(
    'blobs',
    blobs.map(({ sha256, at }) => ({ sha256, used_at: at })),
    daysLeft,
  )
  await rows.add(
    'owner_blobs',
    blobs.map(({ sha256, ownerId }) => ({ owner_id: ownerId, sha256 })),
    daysLeft,
  )
  await rows.add(
    'blob_variants',
    blobs.flatMap(({ sha256 }) => ['br', 'gzip'].map((coding) => ({ sha256, coding, size: 50_000 }))),
    daysLeft,
  )
}

/** Waits until all periodic jobs have run at the current simulated time. */
async function allPeriodicDone(app: FastifyInstance, clock: Clock): Promise<void> {
  const sql = `select name from background_jobs where "key" = 'every' and (state <> 'queued' or due_at <= ?)`
  while ((await app.db.query(sql, [clock.now()])).length > 0) await sleep(50)
}

/** Measures every write statement and transaction in the SQLite library, for all callers. */
function watchHolds() {
  const probe = new Sqlite(':memory:')
  const statement = probe.prepare('select 1')
  const prototype = Object.getPrototypeOf(statement) as Record<string, (...args: unknown[]) => unknown>
  probe.close()
  const kept: Hold[] = []
  let watching = false
  let open: { cpu: number; ms: number; what: string } | null = null
  const originals = { run: prototype.run, all: prototype.all }
  const cpuNow = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  for (const name of ['run', 'all'] as const) {
    const original = originals[name] as (...args: unknown[]) => unknown
    prototype[name] = function (this: { source: string; readonly: boolean }, ...args: unknown[]) {
      if (!watching || (this.readonly && !/^(begin|commit|rollback)/.test(this.source)))
        return original.apply(this, args)
      if (this.source.startsWith('begin')) open = { cpu: cpuNow(), ms: performance.now(), what: '' }
      const [cpu, ms] = [cpuNow(), performance.now()]
      try {
        return original.apply(this, args)
      } finally {
        const what = this.source.replace(/\s+/g, ' ').slice(0, 120)
        if (!open) kept.push({ cpuMs: cpuNow() - cpu, ms: performance.now() - ms, what })
        else if (/^(commit|rollback$)/.test(this.source)) {
          kept.push({ cpuMs: cpuNow() - open.cpu, ms: performance.now() - open.ms, what: open.what.slice(0, 200) })
          open = null
        } else if (!/^(begin|savepoint|release)/.test(this.source)) open.what += `${what.slice(0, 60)}; `
        if (kept.length > 2000) keepLongest(kept)
      }
    }
  }
  return {
    pause: () => (watching = false),
    resume: () => (watching = true),
    end: () => {
      Object.assign(prototype, originals)
      keepLongest(kept)
      return kept
    },
  }
}

function keepLongest(holds: Hold[]): void {
  holds.sort((a, b) => b.cpuMs - a.cpuMs)
  holds.length = Math.min(holds.length, 20)
}
