// An account that is full to its limits, on a server with 512 MB of memory: every route and page that reads.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { NODE_FLAGS } from '../../bin/node-flags.js'
import { GAMEYARD } from '../kit/gameyard.ts'
import { multiplyRows, type RowCopies } from '../kit/multiply-rows.ts'
import { EVENT_STREAM } from '../kit/platform.ts'
import { type Server, startServer } from '../kit/server.ts'
import { until } from '../kit/until.ts'
import { addressOf, inhabit, type World } from './access/world.ts'

const MEMORY = 512 * 1024 ** 2
const GROUPS = '/sys/fs/cgroup'

/** Makes a control group with that much memory; null where this process may make none. */
function makeGroup(): string | null {
  for (const [parent, limit] of [
    [join(GROUPS, 'memory'), 'memory.limit_in_bytes'],
    [GROUPS, 'memory.max'],
  ] as const) {
    const group = join(parent, `gameyard-${process.pid}`)
    try {
      mkdirSync(group)
      writeFileSync(join(group, limit), String(MEMORY))
      return group
    } catch {
      // The system has the other version of control groups, or this process has no rights.
    }
  }
  return null
}

const group = makeGroup()
if (group) t.teardown(() => until(() => rmdirSync(group) === undefined))

/** The most files that an asset pack has (`limits.assetPackFiles`), with long names. */
const PACK = Array.from({ length: 1000 }, (_, index) => ({
  path: `textures/${'deep/'.repeat(20)}${index}.png`,
  size: 1000,
  contentType: 'image/png',
  sha256: index.toString(16).padStart(64, '0'),
  crc32: index,
}))

/** Fills the account of the owner as far as its limits let it, and where there is none as far as years do. */
async function fill({ platform, owner }: World): Promise<void> {
  const { db, saves } = platform.app
  const save = { bytes: Buffer.alloc(1_000_000, '"'), contentType: 'application/json' }
  for (let index = 0; index < 16; index++) {
    await saves.put({ gameId: owner.game.id, playerId: owner.browser.id }, `slot-${index}`, save)
  }
  await db.execute('update games set description = ? where owner_id = ?', ['x'.repeat(2000), owner.browser.id])
  // As from before the files were counted.
  const uncounted = `kind = 'pack', file_count = null, file_bytes = null`
  await db.execute(`update assets set files = ?, description = ?, ${uncounted} where owner_id = ?`, [
    JSON.stringify(PACK),
    'x'.repeat(2000),
    owner.browser.id,
  ])
  const message = { subject: 'About Game', text: 'x'.repeat(2000) }
  await db.transaction((em) => platform.app.moderation.messages.sendIn(em, owner.browser.id, message))
  await owner.browser.put(`/api/games/${owner.game.id}/draft/files/index.html`, { text: '<p>hello</p>' })
  const { id } = owner.browser
  const ofGame = { where: 'game_id = ?', values: [owner.game.id] }
  const copies: RowCopies[] = [
    { table: 'deploys', keys: ['id'], ...ofGame, times: 100 },
    { table: 'draft_files', keys: ['path'], ...ofGame, times: 5000 },
    { table: 'game_activity', keys: ['id'], ...ofGame, times: 50_000 },
    { table: 'score_boards', keys: ['key', 'id'], ...ofGame, times: 49 },
    { table: 'score_entries', keys: ['period'], where: 'player_id = ?', values: [id], times: 50_000 },
    { table: 'games', keys: ['id', 'slug', 'client_id'], where: 'id = ?', values: [owner.game.id], times: 98 },
    { table: 'assets', keys: ['id', 'slug'], where: 'id = ?', values: [owner.assetId], times: 900 },
    { table: 'oauth_apps', keys: ['id', 'client_id'], where: 'owner_id = ?', values: [id], times: 99 },
    { table: 'api_tokens', keys: ['id', 'token_hash'], where: 'player_id = ?', values: [id], times: 97 },
    { table: 'sessions', keys: ['id', 'token_hash'], where: 'player_id = ?', values: [id], times: 2000 },
    { table: 'staff_messages', keys: ['id'], where: 'player_id = ?', values: [id], times: 5000 },
    { table: 'credit_ledger', keys: ['id', 'key'], where: 'player_id = ?', values: [id], times: 50_000 },
    { table: 'save_usage', keys: ['game_id'], where: 'player_id = ?', values: [id], times: 1000 },
    { table: 'saves', keys: ['game_id'], where: 'player_id = ?', values: [id], times: 1000 },
    { table: 'blender_jobs', keys: ['id'], where: 'id = ?', values: [owner.jobId], times: 5000 },
    { table: 'blender_generations', keys: ['id'], where: 'owner_id = ?', values: [id], times: 5000 },
  ]
  for (const copy of copies) await multiplyRows(db, copy)
}

const skip = group ? false : 'this process may make no control group'

t.test('a full account, all of it read on a server with 512 MB', { skip }, async (t) => {
  const world = await inhabit(t, { config: { database: { driver: 'sqlite' } } })
  const { app } = world.platform
  await fill(world)
  const asked = app.routeTable.entries
    .filter(({ method }) => method === 'GET')
    .map((route) => addressOfRoute(world, route))
  await app.close()

  const folder = await mkdtemp(join(tmpdir(), 'gameyard-full-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await cp(app.config.dataDir, join(folder, 'data'), { recursive: true })
  const [command = '', ...args] = GAMEYARD
  const program = ['sh', '-c', `echo $$ > ${group}/cgroup.procs && exec "$@"`, 'sh', command, ...NODE_FLAGS, ...args]
  const server = await startServer(t, { folder, program, config: { limits: { rateLimits: false } } })
  const ask = await signIn(server, world.owner.browser.account)
  const failures: string[] = []
  let next = 0
  const read = async () => {
    for (let route = asked[next++]; route; route = asked[next++]) {
      const { status, bytes } = await ask(route).catch((error) => ({ status: String(error), bytes: 0 }))
      if (typeof status !== 'number' || status >= 500) failures.push(`${route.path}: ${status}`)
      if (bytes > 4e6) t.comment(`${route.path}: ${status}, ${(bytes / 1e6).toFixed(1)} MB`)
    }
  }
  await read()
  t.same(failures, [], 'one after the other')
  t.comment(`${peakOf(server)} MB`)
  next = 0
  await Promise.all(Array.from({ length: 8 }, read))
  t.same(failures, [], 'eight at once')
  t.comment(`${peakOf(server)} MB`)
  t.equal(await server.stop(), 0, 'and it is still there')
})

interface Asked {
  path: string
  url: string
  slug: string | null
}

/** Returns the address of a route, whose list is as long as a page can be. */
function addressOfRoute(world: World, { url: path, origin }: { url: string; origin: string }): Asked {
  const { url } = addressOf(world, world.owner, path, origin)
  const route = world.routes.find((one) => one.url === path)
  const { properties } = (route?.schema?.querystring ?? {}) as { properties?: Record<string, { maximum?: number }> }
  const most = properties?.limit?.maximum
  return { path, url: most ? `${url}?limit=${most}` : url, slug: origin === 'game' ? world.owner.game.slug : null }
}

/** Signs a player in. @returns a function that reads an answer to its end, and keeps nothing of it */
async function signIn({ portal, port }: Server, { email, password }: { email: string; password: string }) {
  const headers = { origin: portal, 'content-type': 'application/json' }
  const body = JSON.stringify({ email, password })
  const answer = await fetch(`${portal}/api/auth/sign-in`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(await answer.text())
  const cookie = answer.headers.getSetCookie().map((line) => line.split(';')[0])
  return ({ url, slug }: Asked) =>
    new Promise<{ status: number | undefined; bytes: number }>((resolve, reject) => {
      const host = slug === null ? `localhost:${port}` : `${slug}.localhost:${port}`
      const sent = get({ port, path: url, agent: false, headers: { host, cookie: cookie.join('; ') } }, (response) => {
        let bytes = 0
        const done = (_ended?: unknown) => resolve({ status: response.statusCode, bytes })
        // A stream of events has no end.
        if (response.headers['content-type'] === EVENT_STREAM) response.once('data', () => done(response.destroy()))
        response.on('data', ({ length }: Buffer) => (bytes += length)).once('end', done)
        response.once('error', reject)
      })
      sent.once('error', reject)
    })
}

/** Returns the most memory that a server has used, in MB. */
const peakOf = ({ process: { pid } }: Server): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) >> 10
