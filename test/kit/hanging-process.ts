// A test process that never ends: it starts typical child processes, prints their process ids, and hangs.
import { spawn } from 'node:child_process'
import t from 'tap'
import { launchPostgres } from './postgres.ts'
import { startServer } from './server.ts'
import { endWithParent } from './watchdog.ts'

const withPostgres = process.argv[2] === 'postgres'
const server = await startServer(t, { config: { blender: { driver: 'none' } } })
const group = endWithParent(spawn('sh', ['-c', 'sleep 600 & sleep 600; wait'], { detached: true, stdio: 'ignore' }), {
  group: true,
})
const over = endWithParent(spawn('true'))
await new Promise((resolve) => over.once('exit', resolve))
const postgres = withPostgres ? await launchPostgres() : null
console.log(JSON.stringify({ pids: [server.process.pid, group.pid, postgres?.pid].filter(Boolean) }))
setInterval(() => {}, 1000)
