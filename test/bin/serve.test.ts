import { once } from 'node:events'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { stringify } from 'yaml'
import { inFull } from '../kit/extent.ts'
import { makeToken } from '../kit/remote-sign-up.ts'
import { freePort } from '../kit/server.ts'
import { until } from '../kit/until.ts'
import { run, start, systemNode, takenPort, temporaryFolder } from './program.ts'

interface Ready {
  portal: string
  dataDir: string
}

/** Finds the log line with the platform's address. */
const readyLine = (stdout: string): Ready =>
  stdout
    .split('\n')
    .map((line) => (line.startsWith('{') ? JSON.parse(line) : {}))
    .find(({ msg }) => msg === 'ready')

const status = (port: string, path: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers: { host: `localhost:${port}` } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on('error', reject)
  })

const nodes = { "npm's Node": process.execPath, "the machine's own Node": systemNode }
for (const [name, node] of Object.entries(nodes)) {
  const skip = node ? false : 'there is no node in PATH'
  if (skip && process.env.CI) t.fail(skip)
  t.test(`serve answers, and stops on SIGTERM with 0, on ${name}`, { skip }, async (t) => {
    const cwd = temporaryFolder(t)
    const server = start(t, ['serve', '--port', '0', '--data', 'here'], { node: node as string, cwd })
    await server.says('"ready"')
    const { portal, dataDir } = readyLine(server.output().stdout)
    const { port } = new URL(portal)
    t.not(port, '0', 'the address has the port that was picked')
    t.equal(dataDir, join(cwd, 'here'))
    t.equal(await status(port, '/healthz'), 200)
    t.ok(existsSync(join(dataDir, 'gameyard.db')))
    server.process.kill('SIGTERM')
    const { code, stderr } = await server.ended
    t.equal(code, 0)
    t.equal(stderr, '')
  })
}

inFull(t)?.test('new objects have 16 MB, also after an idle moment has given memory back', async (t) => {
  const server = start(t, ['serve', '--port', '0'])
  await server.says('"ready"')
  const { portal } = readyLine(server.output().stdout)
  const megabytes = async () => {
    const metrics = await (await fetch(`${portal}/metrics`)).text()
    const of = (what: string) => new RegExp(`heap_space_size_${what}_bytes{space="new"} (\\d+)`).exec(metrics)?.[1]
    return (Number(of('used')) + Number(of('available'))) / 1024 ** 2
  }
  t.ok((await megabytes()) > 15.9)
  // The start has enlarged it; the program releases most of that after 2 s.
  await until(async () => (await megabytes()) < 20)
  t.ok((await megabytes()) > 15.9)
})

t.test('SIGINT stops it as well; a second signal stops it at once', async (t) => {
  const server = start(t, ['serve', '--port', '0'], { env: { SERVICE_LIMITS__SHUTDOWN_SECONDS: '600' } })
  await server.says('"ready"')
  const { origin, host, port } = new URL(readyLine(server.output().stdout).portal)
  // The body of this request never comes. A stop would wait for it for ten minutes.
  const socket = connect(Number(port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  const headers = { host, origin, 'content-type': 'application/json', 'content-length': 10, expect: '100-continue' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST /api/auth/sign-in HTTP/1.1\r\n${lines.join('')}\r\n`)
  const [answer] = await once(socket, 'data')
  t.match(String(answer), /^HTTP\/1\.1 100 /, 'the request has arrived')
  server.process.kill('SIGINT')
  await server.says('"stopping"')
  server.process.kill('SIGINT')
  t.equal((await server.ended).code, 130, 'it does not wait for the request')
})

t.test('what keeps it from starting is one sentence with the way out', async (t) => {
  const port = await takenPort(t)
  const cwd = temporaryFolder(t)
  t.strictSame(await run(t, ['serve', '--port', String(port)], { cwd, env: { SERVICE_LOG__LEVEL: 'silent' } }), {
    code: 1,
    stdout: '',
    stderr: `Port ${port} is taken by another program; choose another with --port.\n`,
  })
  t.notOk(existsSync(join(cwd, 'data')), 'nothing was written')
})

inFull(t)?.test('whatever keeps it from starting is one sentence with the way out', async (t) => {
  const cwd = temporaryFolder(t)
  const untouched = (what: string) => t.notOk(existsSync(join(cwd, 'data')), `${what}: nothing was written`)
  writeFileSync(join(cwd, 'gameyard.yaml'), stringify({ backup: { schedule: '99 3 * * *' } }))
  t.match(await run(t, ['serve', '--port', '0'], { cwd }), { code: 1, stderr: /backup\.schedule: / })
  untouched('a schedule that is none')
  const tls = { cert: './no.pem', key: './no.key' }
  writeFileSync(
    join(cwd, 'gameyard.yaml'),
    stringify({ listen: { tls }, portal: { url: 'https://yard.test' }, games: { domain: 'play.test' } }),
  )
  t.match(await run(t, ['serve', '--port', '0'], { cwd }), { code: 1, stderr: /no\.pem/ })
  untouched('a certificate that is not there')
  rmSync(join(cwd, 'gameyard.yaml'))
  writeFileSync(join(cwd, 'file'), '')
  t.match(await run(t, ['serve', '--port', '0', '--data', 'file/data'], { cwd }), {
    code: 1,
    stderr: /^The data folder \S+file\/data can't be \w+ \([^)]+\); [^\n]*choose another with --data\.\n$/,
  })
  t.match(await run(t, ['serve', '--port', '0'], { cwd, env: { SERVICE_LISTEN__HOST: '192.0.2.1' } }), {
    code: 1,
    stderr: /^This machine has no address 192\.0\.2\.1; [^\n]*\n$/,
  })
  t.match(await run(t, ['serve'], { cwd, env: { SERVICE_LISTEN__PROT: '1' } }), {
    code: 1,
    stderr: 'SERVICE_LISTEN__PROT matches no key of the configuration, did you mean SERVICE_LISTEN__PORT?\n',
  })
})

inFull(t)?.test('a game whose port another program has does not stop the start', async (t) => {
  const cwd = temporaryFolder(t)
  const [port, taken] = [await freePort(), await takenPort(t)]
  writeFileSync(join(cwd, 'gameyard.yaml'), stringify({ listen: { port }, games: { origins: 'port' } }))
  const first = start(t, ['serve'], { cwd })
  await first.says('"ready"')
  const portal = `http://localhost:${port}`
  const token = await makeToken(portal, ['games:write'])
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ title: 'Pong', description: 'A game.' })
  t.equal((await fetch(`${portal}/api/games`, { method: 'POST', headers, body })).status, 201)
  first.process.kill('SIGTERM')
  await first.ended
  const database = new DatabaseSync(join(cwd, 'data', 'gameyard.db'))
  database.prepare('update games set port = ?').run(taken)
  database.close()

  const second = start(t, ['serve'], { cwd })
  await second.says('"ready"')
  t.match(second.output().stdout, new RegExp(`Port ${taken} of the game pong can't be opened \\(EADDRINUSE\\)`))
  t.equal((await fetch(`${portal}/healthz`)).status, 200)
  second.process.kill('SIGTERM')
  t.equal((await second.ended).code, 0)
})
