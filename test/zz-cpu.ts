import { mkdtempSync } from 'node:fs'
import { loadConfig } from '../config/load.ts'
import { folderSource } from '../core/data/built-files.ts'
import { createKernel } from '../core/kernel.ts'
import { families } from '../drivers/index.ts'
import { plugins } from '../plugins/index.ts'
import { RankTree } from '../plugins/scores/ranks/tree.ts'
const folder = mkdtempSync('/tmp/gameyard-cpu-')
const env = { SERVICE_LIMITS__RATE_LIMITS: 'false' }
const { config, plugins: chosen, drivers } = await loadConfig({ cwd: folder, env, families, plugins })
const app = await createKernel(config, { plugins: chosen, drivers, browserFiles: folderSource('/tmp/wt/scores/dist/browser'), version: 'x' })
await app.ready()
const owner = await app.identity.players.create({ email: 'a@example.org', password: 'correct yard battery', name: 'A' })
const game = await app.games.create(owner.id, { title: 'Bench', description: '' })
const { board } = await app.scores.boards.put(game.id, 'f', { title: 'F', keep: 'last' })
const players: string[] = []
for (let n = 0; n < 256; n++) {
  const id = `ply_${String(n).padStart(26, '0')}`
  players.push(id)
  await app.db.execute(`insert into players (id, email_verified, name, guest, is_admin, moderator, disabled, epoch, created_at) values (?, ?, ?, ?, ?, ?, ?, 0, ?)`, [id, false, 'P', false, false, false, false, new Date()])
}
const R = 1e9
const cpu = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
const rnd = () => Math.floor(Math.random() * R)
let filled = 0
for (const size of [10_000, 100_000, 1_000_000]) {
  for (; filled < size; filled += 2000) await app.db.groupCommit(async (s) => {
    const changes = new Map<number, number>()
    for (let at = filled; at < filled + 2000; at += 50) {
      const rows = Array.from({ length: 50 }, (_, i) => { const v = rnd(); changes.set(-v, (changes.get(-v) ?? 0) + 1); return [board.key, `ply_X${String(at + i).padStart(25, '0')}`, v, -v, new Date()] })
      await s.execute(`insert into score_entries (board, period, player_id, score, sort_key, at) values ${rows.map(() => '(?, 0, ?, ?, ?, ?)').join(', ')}`, rows.flat())
    }
    await new RankTree(s, { board: board.key, period: 0 }).update(changes)
  })
  const submit = (n: number) => app.scores.submit({ gameId: game.id, boardId: 'f', playerId: players[n % 256] as string, score: rnd(), writer: 'players' })
  for (let n = 0; n < 1000; n++) await submit(n)
  let t0 = cpu(); let w0 = performance.now()
  for (let n = 0; n < 2000; n++) await submit(n)
  const one = (cpu() - t0) / 2000, oneW = (performance.now() - w0) / 2000
  t0 = cpu()
  for (let n = 0; n < 2000; n++) await app.scores.lists.page(board, { limit: 10, period: 'current', playerId: players[n % 256] as string, around: true })
  const around = (cpu() - t0) / 2000
  t0 = cpu(); w0 = performance.now()
  for (let n = 0; n < 64; n++) await Promise.all(Array.from({ length: 64 }, (_, i) => submit(n * 64 + i)))
  const many = (cpu() - t0) / 4096, manyW = (performance.now() - w0) / 4096
  const nodes = await app.db.query('select level, count(*) as n from score_nodes group by level')
  console.log(size, 'cpu ms: one', one.toFixed(3), 'around', around.toFixed(3), 'batched', many.toFixed(3), '| wall one', oneW.toFixed(2), 'batched', manyW.toFixed(3), JSON.stringify(nodes))
}
await app.close()
process.exit(0)
