// A platform with one board, whose entries are those of submissions, for bench/scores.ts.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { loadConfig } from '../config/load.ts'
import { folderSource } from '../core/data/built-files.ts'
import { createKernel } from '../core/kernel.ts'
import { families } from '../drivers/index.ts'
import { plugins } from '../plugins/index.ts'
import { RankTree } from '../plugins/scores/ranks/tree.ts'
import { launchPostgres } from '../test/kit/postgres.ts'
import { freePort } from '../test/kit/server.ts'

/** Scores are below this. */
export const RANGE = 1_000_000_000
const STEP = 2000

/**
 * Starts a platform with the board `fastest` and players who are signed in to its game.
 *
 * @param kind `sqlite`: on disk, durable; `postgres`: durable, with a server of its own
 */
export async function startScoresPlatform(kind: string, playerCount: number) {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  const postgres = kind === 'postgres' ? await launchPostgres({ durable: true }) : null
  const port = await freePort()
  const env: Record<string, string> = {
    SERVICE_LIMITS__RATE_LIMITS: 'false',
    SERVICE_LISTEN__PORT: String(port),
    SERVICE_LOG__LEVEL: 'warn',
  }
  if (postgres) {
    env.SERVICE_DATABASE__DRIVER = 'postgres'
    env.SERVICE_DATABASE__URL = await postgres.database()
    env.SERVICE_SECRET = 'a secret for one run of a measurement'
  }
  const { config, plugins: chosen, drivers } = await loadConfig({ cwd: folder, env, families, plugins })
  const assets = folderSource(resolve(import.meta.dirname, '../dist/browser'))
  const app = await createKernel(config, { plugins: chosen, drivers, browserFiles: assets, version: 'bench' })
  await app.listen({ host: '127.0.0.1', port })
  const owner = await app.identity.players.create({
    email: 'a@example.org',
    password: 'correct yard battery',
    name: 'A',
  })
  const game = await app.games.create(owner.id, { title: 'Bench', description: '' })
  const { board } = await app.scores.boards.put(game.id, 'fastest', { title: 'Fastest', keep: 'last' })
  const host = new URL(game.url).host
  const players: { id: string; headers: Record<string, string> }[] = []
  for (let number = 0; number < playerCount; number++) {
    const id = `ply_${String(number).padStart(26, '0')}`
    await app.db.execute(
      `insert into players (id, email_verified, name, guest, is_admin, moderator, disabled, epoch, created_at)
       values (?, ?, ?, ?, ?, ?, ?, 0, ?)`,
      [id, false, `Player ${number}`, false, false, false, false, new Date()],
    )
    const consentId = await app.identity.consents.remember(id, game.clientId, ['profile'])
    const player = { id, name: `Player ${number}`, imageUrl: null }
    const granted = { player, scope: 'profile', clientId: game.clientId, consentId, sessionId: null, isOfFrame: false }
    const cookies = await app.edge.sessions.start({ headers: { host } } as never, host, game, granted)
    const cookie = cookies.filter((line) => !/Max-Age=0/.test(line)).map((line) => line.split(';')[0])
    players.push({ id, headers: { host, origin: `http://${host}`, cookie: cookie.join('; ') } })
  }
  let filled = 0
  return {
    app,
    game,
    port,
    players,
    /** Adds entries of nobody in particular up to that number. */
    async fillTo(entries: number) {
      for (; filled < entries; filled += STEP) await fill(app, board.key, filled)
      if (postgres) await app.db.execute('analyze')
    },
    async close() {
      await app.close()
      await postgres?.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Adds entries as submissions would. */
async function fill(app: Awaited<ReturnType<typeof createKernel>>, board: string, from: number): Promise<void> {
  await app.db.groupCommit(async (statements) => {
    const changes = new Map<number, number>()
    for (let at = from; at < from + STEP; at += 50) {
      const rows = Array.from({ length: 50 }, (_, index) => {
        const score = Math.floor(Math.random() * RANGE)
        changes.set(-score, (changes.get(-score) ?? 0) + 1)
        return [board, `ply_X${String(at + index).padStart(25, '0')}`, score, -score, new Date()]
      })
      await statements.execute(
        `insert into score_entries (board, period, player_id, score, sort_key, at)
         values ${rows.map(() => '(?, 0, ?, ?, ?, ?)').join(', ')}`,
        rows.flat(),
      )
    }
    await new RankTree(statements, { board, period: 0 }).update(changes)
  })
}
