import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { limitPipelining } from '../../../../core/http/limits/pipelining.ts'
import { amount } from '../../../kit/extent.ts'
import { until } from '../../../kit/until.ts'

const MOST = 16
/** A request of 90 bytes, as short as that of a browser's script is long. */
const request = (path: number | string, method = 'GET', body = '') =>
  `${method} /${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\nX: ${'x'.repeat(20)}\r\n\r\n${body}`

async function serve(t: Test, listener: (request: IncomingMessage, response: ServerResponse) => void) {
  const sockets: Socket[] = []
  const server = createServer(limitPipelining(listener)).on('connection', (socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const open = async () => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
    t.teardown(() => client.destroy())
    let received = ''
    client.setEncoding('utf8').on('data', (text) => (received += text))
    await once(client, 'connect')
    return { client, answers: () => [...received.matchAll(/<(\w+)>/g)].map(([, name]) => name) }
  }
  return { sockets, open }
}

const answer = ({ url }: IncomingMessage, response: ServerResponse) => response.end(`<${url?.slice(1)}>`)

t.test('a connection with 16 unanswered requests is not read further, and others are', async (t) => {
  const handled: [IncomingMessage, ServerResponse][] = []
  const { sockets, open } = await serve(t, (request, response) => {
    if (request.url === '/other') return void answer(request, response)
    handled.push([request, response])
  })
  const { client, answers } = await open()
  const count = amount(20_000, 60_000)
  client.write(Array.from({ length: count }, (_, index) => request(index)).join(''))
  await until(() => handled.length >= MOST)
  const other = await open()
  for (let round = 1; round <= 20; round++) {
    other.client.write(request('other'))
    await until(() => other.answers().length === round)
  }
  t.equal(handled.length, MOST)
  t.ok((sockets[0]?.bytesRead ?? 0) <= 4 * 65_536, `${sockets[0]?.bytesRead} bytes were read`)

  const release = setInterval(() => {
    for (const [request, response] of handled.splice(0)) answer(request, response)
  })
  t.teardown(() => clearInterval(release))
  await until(() => answers().length === count)
  t.strictSame(
    answers(),
    Array.from({ length: count }, (_, index) => String(index)),
    'all are answered in order',
  )
  client.write(request('last'))
  await until(() => answers().at(-1) === 'last')
})

t.test('requests that are answered at once get turns of the event loop', async (t) => {
  let inTurn = 0
  let most = 0
  const turn = () => {
    inTurn = 0
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  t.teardown(() => clearImmediate(next))
  const { open } = await serve(t, (request, response) => {
    most = Math.max(most, ++inTurn)
    answer(request, response)
  })
  const { client, answers } = await open()
  client.write(Array.from({ length: 700 }, (_, index) => request(index)).join(''))
  await until(() => answers().length === 700)
  t.ok(most <= 2 * MOST, `${most} in one turn`)
})

t.test('bodies of pipelined requests do not resume the connection', async (t) => {
  const handled: [IncomingMessage, ServerResponse][] = []
  const { sockets, open } = await serve(t, (request, response) => {
    if (request.url === '/other') return void answer(request, response)
    // The first has an answer, and reading its body resumes the connection in Node.
    request.resume().once('end', () => handled.push([request, response]))
  })
  const { client } = await open()
  client.write(Array.from({ length: 20_000 }, (_, index) => request(index, 'POST', 'body')).join(''))
  await until(() => handled.length >= MOST)
  const other = await open()
  for (let round = 1; round <= 20; round++) {
    other.client.write(request('other'))
    await until(() => other.answers().length === round)
  }
  t.ok((sockets[0]?.bytesRead ?? 0) <= 4 * 65_536, `${sockets[0]?.bytesRead} bytes were read`)
  t.equal(handled.length, MOST)
  client.destroy()
  for (const [request, response] of handled) answer(request, response)
  await until(() => sockets[0]?.destroyed)
})
