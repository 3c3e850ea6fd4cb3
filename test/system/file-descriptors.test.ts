import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { isPresent } from '../kit/components.ts'
import { startServer } from '../kit/server.ts'
import { until } from '../kit/until.ts'

const skip = process.platform !== 'linux' || !isPresent('prlimit') ? 'prlimit (util-linux) sets the limit' : false

t.test('a server whose descriptors are all in use refuses connections, says so, and recovers', { skip }, async (t) => {
  const server = await startServer(t)
  const pid = Number(server.process.pid)
  // Descriptors above the limit stay open. Below it there is always a gap or two.
  const open = readdirSync(`/proc/${pid}/fd`).length
  const limit = (number: number) => execFileSync('prlimit', ['--pid', String(pid), `--nofile=${number}:`])
  limit(open + 6)
  const sockets: Socket[] = []
  t.teardown(() => sockets.map((socket) => socket.destroy()))
  const connectOnce = async () => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    await Promise.race([once(socket, 'close'), new Promise((done) => setTimeout(done, 20))])
  }
  const isRefused = () => sockets.some(({ destroyed }) => destroyed)
  for (let number = 0; number < 100 && !isRefused(); number++) await connectOnce()
  await until(isRefused)
  await until(() => server.output().includes('All file descriptors of the process are in use'))
  // Two seconds after its start the process measures its memory, which takes a descriptor.
  await sleep(2000)
  t.equal(server.process.exitCode, null)

  for (const socket of sockets) socket.destroy()
  await until(() => server.output().includes('File descriptors are free again.'))
  const answer = await fetch(`http://127.0.0.1:${server.port}/readyz`)
  t.match(await answer.json(), { status: 'ready', details: { descriptors: 'ok' } })
  t.equal(await server.stop(), 0)
})
