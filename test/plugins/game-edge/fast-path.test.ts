// Tests with real sockets that responses from memory skip the router and equal those of the route.
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { brotliCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { deploy } from './kit.ts'

const INDEX = `<!doctype html><html><head><title>Pong</title></head><body>${'pong '.repeat(400)}</body></html>`
const SCRIPT = 'console.log("pong")'

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
}

async function published(t: Test, fields: Record<string, unknown> = {}) {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner, fields)
  const program = await platform.program(owner)
  const files = {
    'index.html': INDEX,
    'main.js': SCRIPT,
    'help/index.html': '<p>Help</p>',
    'big.bin': 'b'.repeat(600_000),
    'game.wasm.br': brotliCompressSync(Buffer.from(SCRIPT)),
  }
  await deploy(platform, program, game.id, files)
  const host = platform.gameHost(game.slug)
  const { port } = platform.app.server.address() as { port: number }
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, path, method, agent, headers: { host, ...headers } })
      outgoing.on('error', reject)
      outgoing.on('response', async (incoming) => {
        const chunks = await incoming.toArray().catch(reject)
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes: Buffer.concat(chunks ?? []) })
      })
      outgoing.end()
    })
  return { platform, game, program, host, port, ask }
}

/** Omits headers that depend on the connection or the time. */
const essence = ({ status, headers, bytes }: Answer) => {
  const { date, connection, 'keep-alive': _, 'x-request-id': __, ...rest } = headers
  return { status, headers: rest, text: bytes.toString() }
}

t.test('the short cut answers as the route does', async (t) => {
  const { platform, host, ask } = await published(t)
  const { etag } = (await ask('/main.js')).headers
  const asked: [path: string, headers?: Record<string, string>, method?: string][] = [
    ['/'],
    ['/?a=1'],
    ['/', { 'accept-encoding': 'gzip, deflate, br, zstd' }],
    ['/', { 'accept-encoding': 'gzip;q=1, br;q=0' }],
    ['/', { accept: 'text/html', 'sec-fetch-dest': 'document' }],
    ['/index.html'],
    ['/help/'],
    ['/help'],
    ['/main.js'],
    ['/main.js', {}, 'HEAD'],
    ['/main.js', { range: 'bytes=2-5' }],
    ['/main.js', { range: 'bytes=-5' }],
    ['/main.js', { range: 'bytes=500-' }],
    ['/main.js', { range: 'bytes=0-1', 'if-range': '"other"' }],
    ['/main.js', { 'if-none-match': etag as string }],
    ['/main.js', { 'if-none-match': `"x", W/${etag}` }],
    ['/main.js', { 'if-none-match': '*' }],
    ['/main.js', {}, 'POST'],
    ['/big.bin', { range: 'bytes=599990-' }],
    ['/game.wasm.br'],
    ['/game.wasm.br', { 'accept-encoding': 'gzip, br' }],
    ['/game.wasm.br', { 'accept-encoding': 'gzip', range: 'bytes=2-5' }],
    ['/level/3'],
    ['/%6dain.js'],
    ['/auth/service/other'],
  ]
  for (const [path, headers = {}, method = 'GET'] of asked) {
    await ask(path, headers, method) // The response is in memory by now, if it is ever cached.
    const socket = await ask(path, headers, method)
    const injected = await platform.app.inject({ method: method as 'GET', url: path, headers: { host, ...headers } })
    const { connection, date, 'x-request-id': _, ...rest } = injected.headers
    t.same(
      essence(socket),
      { status: injected.statusCode, headers: rest, text: injected.rawPayload.toString() },
      `${method} ${path} ${JSON.stringify(headers)}`,
    )
  }
})

t.test('what it answers is counted as the route’s', async (t) => {
  const { platform, ask } = await published(t)
  for (let count = 0; count < 5; count++) await ask('/main.js')
  const { etag } = (await ask('/main.js')).headers
  await ask('/main.js', { 'if-none-match': etag as string })
  const { text } = await platform.stranger.get('/metrics')
  t.match(text, /gameyard_http_responses_total\{route="\/\*",status="200"\} 6\n/)
  t.match(text, /gameyard_http_responses_total\{route="\/\*",status="304"\} 1\n/)
  t.match(text, /gameyard_http_request_seconds_count\{method="GET",route="\/\*"\} 7\n/)
  t.match(text, /gameyard_http_request_seconds_bucket\{le="\+Inf",method="GET",route="\/\*"\} 7\n/)
})

t.test('a change shows at once on a connection that is open', async (t) => {
  const { platform, game, program, ask } = await published(t)
  for (let count = 0; count < 3; count++) t.equal((await ask('/main.js')).bytes.toString(), SCRIPT)
  await deploy(platform, program, game.id, { 'index.html': INDEX, 'main.js': 'second' })
  t.equal((await ask('/main.js')).bytes.toString(), 'second')
  t.equal((await ask('/main.js')).bytes.toString(), 'second')
  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  t.equal((await ask('/main.js')).status, 404)
})

t.test('Host headers are what they must be', async (t) => {
  const { host, port, ask } = await published(t)
  await ask('/main.js')
  t.equal((await ask('/main.js')).status, 200)
  const raw = (head: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      let text = ''
      socket.on('data', (chunk) => (text += chunk))
      socket.on('error', reject)
      socket.on('close', () => resolve(text.split(' ')[1] ?? ''))
      socket.end(`${head}Connection: close\r\n\r\n`)
    })
  const get = (...hosts: string[]) => raw(`GET /main.js HTTP/1.1\r\n${hosts.map((one) => `Host: ${one}\r\n`).join('')}`)
  t.equal(await get(host), '200')
  t.equal(await get(host.toUpperCase()), '200')
  t.equal(await get(host, host), '400', 'twice')
  t.equal(await get(host, 'evil.example'), '400')
  t.equal(await get(`a@${host}`), '400')
  t.equal(await get(`x/../${host}`), '400')
  t.equal(await get(`nobody-${host}`), '404')
  t.equal(await get(`a.b.${host}`), '421')
  t.equal(await get('evil.example'), '421')
  t.equal(await get(`${host}.evil.example`), '400')
  t.equal(await get(`${host.replace(/:.*/, '')}.evil.example`), '421')
  t.equal(await raw('GET /main.js HTTP/1.1\r\n'), '400', 'none at all')
  t.equal(await raw(`GET /main.js HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-Host: evil.example\r\n`), '200')
})

t.test('no file is answered any more once the server drains', async (t) => {
  const { platform, ask } = await published(t)
  await ask('/main.js')
  platform.app.fastPath.end()
  t.equal((await ask('/main.js')).status, 200, 'the route still answers')
  t.match((await platform.stranger.get('/metrics')).text, /route="\/\*",status="200"\} 2\n/)
})

t.test('a game that is suspended or closed is not answered from memory', async (t) => {
  const { platform, game, program, ask } = await published(t)
  const admin = await platform.admin()
  const both = async () => [(await ask('/')).status, (await ask('/main.js')).status]
  t.same([...(await both()), ...(await both())], [200, 200, 200, 200])
  await admin.submit(`/admin/games/${game.id}/suspend`, { reason: 'It shows the faces of others.' })
  t.same([...(await both()), ...(await both())], [451, 451, 451, 451])
  await admin.submit(`/admin/games/${game.id}/lift`, {})
  t.same([...(await both()), ...(await both())], [200, 200, 200, 200])
  t.match(await program.patch(`/api/games/${game.id}`, { playable: false }), { status: 200 })
  t.notOk([...(await both()), ...(await both())].includes(200))
})
