// Tests kill -9 while a maker accepts a game, and while its owner deletes one for good: its owner, its team and
// everything that counts are the old ones or the new ones, and never a mixture.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { blobsOf } from '../../../plugins/deploy/manifest/stored-manifest.ts'
import { amount, inFull } from '../../kit/extent.ts'
import { signUpAt } from '../../kit/remote-sign-up.ts'
import { freePort, type Server, startServer } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { build, filesOf, tarOf } from '../deploy/build.ts'

/** The number of times that the server is killed. */
const KILLS = amount(3, 30)
/** The files of each deploy, so that a transfer takes some time. */
const FILES = amount(400, 1500)
const DEPLOYS = 3
const SAVED_BYTES = 5000

t.setTimeout(timeLimit(180 + KILLS * 60))

t.test(`kill -9 at ${KILLS} moments of a transfer leaves all of it or nothing`, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-transfer-kill-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const auth = { passwordHashing: { memory: 8, passes: 1 } }
  const config = { limits: { rateLimits: false }, blender: { driver: 'none' }, auth }
  // The port stays, since the origin of the sessions has it.
  const options = { folder, config, port: await freePort() }
  let server: Server = await startServer(t, options)
  const [olu, mae] = [await player(server.portal, 'Olu'), await player(server.portal, 'Mae')]
  const game = await sharedGame(server.portal, olu, mae)
  const path = `/api/games/${game.id}/transfer`
  const call = (by: Player, route: string, body: unknown = {}) => send(server.portal + route, by, 'POST', body)
  await server.stop('SIGKILL')
  saveSome(folder, game.id, olu.id)
  server = await startServer(t, options)

  let [owner, maker] = [olu, mae]
  /** Offers the game to the maker, unless a kill left an offer open. */
  const offer = async () => {
    const { status } = await call(owner, path, { playerId: maker.id })
    t.ok([201, 409].includes(status))
  }
  /** Gives the game to the maker. @returns the time that it took */
  const transferOnce = async (): Promise<number> => {
    await offer()
    const start = performance.now()
    t.equal((await call(maker, `${path}/accept`)).status, 204)
    ;[owner, maker] = [maker, owner]
    return performance.now() - start
  }
  const usualMs = Math.min(await transferOnce(), await transferOnce())
  let done = 2
  let undone = 0
  for (let cycle = 1; cycle <= KILLS; cycle++) {
    await offer()
    const accepted = call(maker, `${path}/accept`).then(
      ({ status }) => status,
      () => null,
    )
    await sleep(Math.random() * 1.3 * usualMs)
    await server.stop('SIGKILL')
    const answered = await accepted
    const state = await inspect(folder, game.id)
    const isDone = state.owner === maker.id
    if (answered === 204) t.ok(isDone, 'what was acknowledged is done')
    if (isDone) {
      ;[owner, maker] = [maker, owner]
      done++
    } else undone++
    t.same(
      state,
      {
        owner: owner.id,
        makers: [maker.id],
        offered: isDone ? 0 : 1,
        deploys: [owner.id],
        players: [olu.id, mae.id].sort(),
        apps: [owner.id],
        transfers: done,
        audited: done,
        counted: { [owner.id]: state.expected },
        expected: state.expected,
      },
      `cycle ${cycle}: ${isDone ? 'all is done' : 'nothing is done'}`,
    )
    server = await startServer(t, options)
  }
  t.comment(`${usualMs.toFixed()} ms each; ${undone} of ${KILLS} kills came before the end`)
  await transferOnce()
  t.equal(await server.stop(), 0)
})

// The short form of deletion.test.ts cuts a deletion by an error instead.
inFull(t)?.test(`kill -9 at ${KILLS} moments of a deletion for good leaves the whole game or nothing`, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-deletion-kill-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const auth = { passwordHashing: { memory: 8, passes: 1 } }
  const config = { limits: { rateLimits: false }, blender: { driver: 'none' }, auth }
  const options = { folder, config, port: await freePort() }
  let server: Server = await startServer(t, options)
  const [olu, mae] = [await player(server.portal, 'Olu'), await player(server.portal, 'Mae')]
  const remove = async ({ id, slug }: SharedGame) =>
    (await send(`${server.portal}/api/games/${id}?forever=true&confirm=${slug}`, olu, 'DELETE')).status
  const first = await sharedGame(server.portal, olu, mae)
  const start = performance.now()
  t.equal(await remove(first), 204)
  const usualMs = performance.now() - start
  t.same(rowsOf(folder, first.id, olu.id), NOTHING)

  let whole = 0
  let partial = 0
  for (let cycle = 1; cycle <= KILLS; cycle++) {
    const game = await sharedGame(server.portal, olu, mae)
    const before = rowsOf(folder, game.id, olu.id)
    const answer = remove(game).catch(() => null)
    await sleep(Math.random() * 1.2 * usualMs)
    await server.stop('SIGKILL')
    const answered = await answer
    const after = rowsOf(folder, game.id, olu.id)
    const isErased = updateRows(
      folder,
      'update games set erased_at = 1 where id = ? and erased_at is not null',
      game.id,
    )
    if (!isErased) {
      t.not(answered, 204, 'what was acknowledged is done')
      t.same(after, before, `cycle ${cycle}: nothing is deleted`)
      whole++
    } else if (after.rows > NOTHING.rows) partial++
    updateRows(folder, "update background_jobs set due_at = 1 where name = 'games/purge'")
    server = await startServer(t, options)
    if (isErased) {
      t.equal((await fetch(`${server.portal}/play/${game.slug}`)).status, 404)
      t.equal((await send(`${server.portal}/api/games/${game.id}/restore`, olu, 'POST', {})).status, 404)
    } else t.equal(await remove(game), 204)
    const left = await until(() => {
      const rows = rowsOf(folder, game.id, olu.id)
      return isErased && rows.games > 0 ? null : rows
    })
    t.same(left, isErased ? { ...NOTHING, games: 0 } : NOTHING, `cycle ${cycle}: everything is deleted`)
  }
  t.comment(`${usualMs.toFixed()} ms; of ${KILLS} kills ${whole} came before it, and ${partial} in the middle of it`)
})

interface SharedGame {
  id: string
  slug: string
}

/** What is left of a game that is deleted for good, for ten minutes. */
const NOTHING = { games: 1, rows: 0, bytes: 0, refs: 0 }

/** Returns how many rows there are of the game in all tables, and what counts for the owner. */
function rowsOf(folder: string, gameId: string, ownerId: string): typeof NOTHING {
  const database = new Sqlite(join(folder, 'data/gameyard.db'), { readonly: true })
  try {
    const number = (sql: string, ...values: string[]) =>
      (database
        .prepare(sql)
        .pluck()
        .get(...values) ?? 0) as number
    const tables = database
      .prepare(`select m.name from sqlite_master m join pragma_table_info(m.name) c
        where m.type = 'table' and c.name = 'game_id' and m.name <> 'game_slugs'`)
      .pluck()
      .all() as string[]
    let rows = 0
    for (const table of tables) rows += number(`select count(*) from "${table}" where game_id = ?`, gameId)
    return {
      games: number('select count(*) from games where id = ?', gameId),
      rows,
      bytes: number('select sum(bytes) from quota_stored_bytes where owner_id = ?', ownerId),
      refs: number('select sum(refs) from quota_shared_blobs where owner_id = ?', ownerId),
    }
  } finally {
    database.close()
  }
}

/** Changes the database of a server that does not run. @returns whether there was such a row */
function updateRows(folder: string, sql: string, ...values: string[]): boolean {
  const database = new Sqlite(join(folder, 'data/gameyard.db'))
  try {
    return database.prepare(sql).run(...values).changes > 0
  } finally {
    database.close()
  }
}

interface Player {
  id: string
  headers: Record<string, string>
}

async function player(portal: string, name: string): Promise<Player> {
  const headers = await signUpAt(portal, name)
  const session = await fetch(`${portal}/api/auth/session`, { headers })
  const { user } = (await session.json()) as { user: { id: string } }
  return { id: user.id, headers }
}

async function send(url: string, { headers }: Player, method: string, body?: unknown) {
  const answer = await fetch(url, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  const text = await answer.text()
  return { status: answer.status, body: text && JSON.parse(text) }
}

/** Creates a game of two makers, with deploys of both and a draft. */
async function sharedGame(portal: string, owner: Player, maker: Player): Promise<SharedGame> {
  const game = (await send(`${portal}/api/games`, owner, 'POST', { title: 'Duo', description: '' })).body
  const invited = (await send(`${portal}/api/games/${game.id}/invitations`, owner, 'POST', { role: 'maker' })).body
  const form = { ...maker.headers, 'content-type': 'application/x-www-form-urlencoded' }
  await fetch(portal + new URL(invited.url).pathname, { method: 'POST', headers: form, redirect: 'manual' })
  for (let index = 0; index < DEPLOYS; index++) {
    const by = index === 0 ? owner : maker
    // Half of the contents are in all of them.
    const files = {
      ...build('shared', FILES / 2),
      ...renamed(build(`deploy ${index}`, FILES / 2)),
      'index.html': 'Duo',
    }
    const begun = await send(`${portal}/api/deploy`, by, 'POST', { gameId: game.id, files: filesOf(files) })
    const { deployId, uploads, bundle } = begun.body
    const wanted = Object.fromEntries(
      uploads.map(({ path }: { path: string }) => [path, (files as Record<string, string | Buffer>)[path]]),
    )
    // The server may have all of the bytes.
    if (bundle) {
      const { url, method, headers } = bundle
      const sent = await fetch(url, { method, headers, body: new Uint8Array(tarOf(wanted)) })
      if (!sent.ok) throw new Error(await sent.text())
    }
    const { status } = await send(`${portal}/api/deploy/${deployId}/finalize`, by, 'POST', {})
    if (status !== 200) throw new Error(`The deploy was answered ${status}.`)
  }
  const headers = { ...owner.headers, 'content-type': 'text/plain' }
  const draft = `${portal}/api/games/${game.id}/draft/files/draft.js`
  const written = await fetch(draft, { method: 'PUT', headers, body: 'a draft' })
  if (!written.ok) throw new Error(await written.text())
  return game
}

const renamed = (files: Record<string, string | Buffer>) =>
  Object.fromEntries(Object.entries(files).map(([path, bytes]) => [`own/${path}`, bytes]))

/** Lets the game have saves, which count for its owner. */
function saveSome(folder: string, gameId: string, ownerId: string): void {
  const database = new Sqlite(join(folder, 'data/gameyard.db'))
  database.prepare('insert into save_totals (game_id, counted_bytes) values (?, ?)').run(gameId, SAVED_BYTES)
  database
    .prepare("insert into quota_stored_bytes (owner_id, kind, bytes) values (?, 'saves', ?)")
    .run(ownerId, SAVED_BYTES)
  database.close()
}

/** Returns who has what of the game, and recounts its bytes from the original rows. */
async function inspect(folder: string, gameId: string) {
  const database = new Sqlite(join(folder, 'data/gameyard.db'))
  try {
    const list = (sql: string) => database.prepare(sql).pluck().all(gameId) as string[]
    const number = (sql: string) => database.prepare(sql).pluck().get(gameId) as number
    const noted = database
      .prepare('select owner_id, kind, bytes from quota_stored_bytes where bytes > 0 order by owner_id, kind')
      .all() as { owner_id: string; kind: string; bytes: number }[]
    const counted: Record<string, Record<string, number>> = {}
    for (const { owner_id, kind, bytes } of noted) counted[owner_id] = { ...counted[owner_id], [kind]: bytes }
    const shared = database
      .prepare("select owner_id, sha256, refs from quota_shared_blobs where kind = 'deploys' order by sha256")
      .all() as { owner_id: string; sha256: string; refs: number }[]
    for (const { owner_id, refs } of shared) {
      const account = counted[owner_id] ?? {}
      counted[owner_id] = { ...account, refs: (account.refs ?? 0) + refs }
    }
    let [deploys, refs] = [0, 0]
    const sizes = new Map<string, number>()
    const manifests = list(
      'select files from deploy_manifests m join deploys d on d.id = m.deploy_id where d.game_id = ?',
    )
    for (const files of manifests) {
      deploys += Buffer.byteLength(files)
      for (const { sha256, bytes } of await blobsOf(files)) {
        refs++
        sizes.set(sha256, bytes)
      }
    }
    for (const bytes of sizes.values()) deploys += bytes
    return {
      owner: list('select owner_id from games where id = ?')[0],
      makers: list("select player_id from game_members where game_id = ? and role = 'maker'"),
      offered: number('select count(*) from game_transfers where game_id = ?'),
      deploys: list('select distinct owner_id from deploys where game_id = ?'),
      players: list('select distinct player_id from deploys where game_id = ? order by player_id'),
      apps: list('select owner_id from oauth_apps where game_id = ?'),
      transfers: number("select count(*) from game_activity where game_id = ? and action = 'game.transfer'"),
      audited: number("select count(*) from audit where target_id = ? and action = 'game.transfer'"),
      counted,
      expected: { deploys, drafts: 'a draft'.length, saves: SAVED_BYTES, refs },
    }
  } finally {
    database.close()
  }
}
