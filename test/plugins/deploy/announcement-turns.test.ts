// In a process of its own: it measures the processor time of the event loop.
import t from 'tap'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { processorLimit } from '../../kit/time-limit.ts'
import { sha256 } from './build.ts'

/** Runs work, and returns the processor time of its longest turn of the event loop and of all, in ms. */
async function turnsOf(work: () => Promise<unknown>): Promise<{ longest: number; all: number }> {
  const begun = process.threadCpuUsage()
  let last = begun
  let longest = 0
  let underWay = true
  const end = () => {
    const { user, system } = process.threadCpuUsage(last)
    longest = Math.max(longest, (user + system) / 1000)
    last = process.threadCpuUsage()
    if (underWay) setImmediate(end)
  }
  setImmediate(end)
  await work()
  underWay = false
  end()
  const { user, system } = process.threadCpuUsage(begun)
  return { longest, all: (user + system) / 1000 }
}

// Before, 20,000 files took one turn of 700 ms to announce, and one of 210 ms to delete.
t.test('the announcement of many files is divided among turns of the event loop', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const folder = 'd'.repeat(250)
  const files = (stamp: number) =>
    Array.from({ length: amount(6000, 20_000) }, (_, index) => ({
      path: index === 0 ? 'index.html' : `${folder}/${folder}/${index}.png`,
      size: 10,
      sha256: sha256(`${stamp}/${index}`),
      contentType: `image/png; x=${'y'.repeat(150)}`,
    }))
  const headers = { host: new URL(platform.portal).host, authorization: `Bearer ${program.token}` }
  const send = (method: 'POST' | 'GET' | 'DELETE', url: string, body?: string) =>
    platform.app.inject({
      method,
      url,
      headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body } : {}),
    })
  const bodies = [0, 1, 2, 3].map((stamp) => JSON.stringify({ gameId: game.id, files: files(stamp) }))
  const turns: Record<string, { longest: number; all: number }[]> = {}
  for (const [round, body] of bodies.entries()) {
    let deployId = ''
    const steps = {
      announce: async () => {
        deployId = (await send('POST', '/api/deploy', body)).json().deployId
      },
      usage: () => send('GET', '/api/usage'),
      delete: () => send('DELETE', `/api/deploy/${deployId}`),
    }
    for (const [name, step] of Object.entries(steps)) {
      const measured = await turnsOf(step)
      // The first round compiles.
      if (round > 0) turns[name] = [...(turns[name] ?? []), measured]
    }
  }
  for (const [name, rounds] of Object.entries(turns)) {
    // A collection of garbage may fall into a turn of any round, but not into all.
    const [{ longest, all } = { longest: 0, all: 0 }] = rounds.toSorted((a, b) => a.longest - b.longest)
    t.ok(
      longest < processorLimit(100) && longest < Math.max(all / 2, processorLimit(25)),
      `${name}: ${longest} of ${all} ms`,
    )
  }
  t.same(Object.keys(turns), ['announce', 'usage', 'delete'])
})
