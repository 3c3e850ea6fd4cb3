import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import { PlatformProxy } from '../../../clients/cli/dev/proxy.ts'

/** A platform that leaves upgrades to the test, and the proxy of a development server in front of it. */
async function openProxy(t: Test) {
  const platform = createServer().listen(0, '127.0.0.1')
  await once(platform, 'listening')
  const origin = `http://127.0.0.1:${(platform.address() as AddressInfo).port}`
  const proxy = new PlatformProxy(origin, 'http://127.0.0.1', () => null)
  const server = createServer().listen(0, '127.0.0.1')
  server.on('upgrade', (request, socket, head) => proxy.upgrade(request, socket, head))
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => {
    client.destroy()
    platform.close()
    server.close()
  })
  const asked = once(platform, 'upgrade') as Promise<[IncomingMessage, Duplex]>
  client.write('GET /mp/rooms/lobby HTTP/1.1\r\nHost: duo\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  const [, upstream] = await asked
  t.teardown(() => upstream.destroy())
  return { client, upstream }
}

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

for (const [how, leave] of [
  ['ends', 'end'],
  ['breaks off', 'destroy'],
] as const) {
  t.test(`a page that ${how} before the answer of the platform leaves nobody in the room`, async (t) => {
    const { client, upstream } = await openProxy(t)
    const over = once(upstream.resume(), 'end')
    client[leave]()
    await over
    t.ok(upstream.readableEnded)
  })
}

t.test('bytes go both ways after the answer, and the end of one side is that of the other', async (t) => {
  const { client, upstream } = await openProxy(t)
  upstream.write(`${SWITCHING}welcome`)
  let text = ''
  while (!text.endsWith('welcome')) text += String((await once(client, 'data'))[0])
  client.write('hello')
  t.equal(String((await once(upstream, 'data'))[0]), 'hello')
  const over = once(upstream.resume(), 'end')
  client.end()
  await over
  t.ok(upstream.readableEnded)
})
