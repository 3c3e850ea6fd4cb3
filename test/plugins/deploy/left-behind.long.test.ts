import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { startKillable } from '../../kit/killable-server.ts'
import { signUpAt } from '../../kit/remote-sign-up.ts'
import { freePort } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { zip } from './zip-writer.ts'

const KILLS = 8

t.setTimeout(timeLimit(300))

t.test(`kill -9 at ${KILLS} moments of an archive leaves no deploy that nobody can continue`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-left-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const portal = `http://localhost:${port}`
  const program = join(import.meta.dirname, 'killable.ts')
  let server = await startKillable(program, { folder, port, rest: ['0'] })
  t.teardown(() => void server.kill('SIGKILL'))
  const headers = await signUpAt(portal)
  const made = await fetch(`${portal}/api/games`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ title: 'Left', description: '' }),
  })
  const { slug } = (await made.json()) as { slug: string }
  let cut = 0
  for (let cycle = 0; cycle < KILLS; cycle++) {
    const entries = Array.from({ length: 3000 }, (_, number) => ({
      name: `${number}.txt`,
      bytes: `${cycle} ${number}`,
    }))
    const form = new FormData()
    form.set('archive', new Blob([new Uint8Array(zip([{ name: 'index.html', bytes: 'hi' }, ...entries]))]), 'build.zip')
    const { cookie = '', origin = '' } = headers
    const publishing = fetch(`${portal}/games/${slug}/deploys`, {
      method: 'POST',
      headers: { cookie, origin },
      body: form,
      redirect: 'manual',
    })
    const answered = publishing.then(
      ({ status }) => status,
      () => null,
    )
    // Until the deploy has begun, or is over.
    while (openIn(folder) === 0 && (await Promise.race([answered, sleep(1, 'pending')])) === 'pending');
    await sleep(cycle * 10)
    server.kill('SIGKILL')
    await once(server, 'exit')
    const status = await answered
    t.ok(status === null || status === 303, `cycle ${cycle}: ${status}`)
    if (status === null) cut++
    server = await startKillable(program, { folder, port, rest: ['0'] })
    t.equal(openIn(folder), 0, `cycle ${cycle}`)
    for (const name of ['deploys', 'archives']) t.same(await readdir(join(folder, 'data', name)).catch(() => []), [])
  }
  t.ok(cut > 0, `${cut} were cut`)
})

function openIn(folder: string): number {
  const database = new Sqlite(join(folder, 'data/gameyard.db'), { readonly: true })
  try {
    return database
      .prepare("select count(*) from deploys where state in ('uploading', 'finalizing')")
      .pluck()
      .get() as number
  } finally {
    database.close()
  }
}
