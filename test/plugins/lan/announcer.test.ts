// Tests multicast DNS on a separate port, so that this machine's own responder is not involved.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import multicastDns from 'multicast-dns'
import { type Logger, pino } from 'pino'
import t, { type Test } from 'tap'
import { Announcer } from '../../../plugins/lan/announcer.ts'
import { until } from '../../kit/until.ts'

const address = '127.0.0.1'

/** Returns a log that stores its lines. */
function listening(): { log: Logger; lines: string[] } {
  const lines: string[] = []
  const write = (line: string) => void lines.push(JSON.parse(line).msg)
  return { lines, log: pino({ level: 'warn' }, { write }) }
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4').bind(0)
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  return port
}

function neighbour(t: Test, port: number) {
  const mdns = multicastDns({ port, interface: address, bind: '0.0.0.0' })
  t.teardown(() => new Promise<void>((done) => mdns.destroy(() => done())))
  return mdns
}

t.test('the name is answered with the address, and taken back at the end', async (t) => {
  const port = await freePort()
  const mdns = neighbour(t, port)
  await once(mdns, 'ready')
  const received: { name: string; data: unknown; ttl: number | undefined }[] = []
  mdns.on('response', ({ answers = [] }) => {
    for (const answer of answers)
      if (answer.type === 'A') received.push({ name: answer.name, data: answer.data, ttl: answer.ttl })
  })
  const { log, lines } = listening()
  const announcer = await Announcer.open({ name: 'yard', address, log, port })
  await until(() => received.length > 0)
  received.length = 0
  mdns.query([{ name: 'other.local', type: 'A' }])
  mdns.query([{ name: 'Yard.local', type: 'A' }])
  await until(() => received.length > 0)
  t.match(received, [{ name: 'yard.local', data: address, ttl: 120 }])
  mdns.respond([{ name: 'yard.local', type: 'A', ttl: 120, data: '127.0.0.9' }])
  await until(() => lines.length > 0)
  t.match(lines, [/another machine, 127.0.0.9, answers to yard.local too; choose another name with lan.name/])
  await announcer.close()
  await until(() => received.at(-1)?.ttl === 0)
  t.pass('goodbye')
})

t.test('a port that is taken is a warning, and nothing else', async (t) => {
  const port = await freePort()
  const other = createSocket('udp4').bind({ port, exclusive: true })
  await once(other, 'listening')
  t.teardown(() => new Promise<void>((done) => other.close(() => done())))
  const { log, lines } = listening()
  const announcer = await Announcer.open({ name: 'yard', address, log, port })
  await until(() => lines.length > 0)
  t.match(lines, [/yard.local can't be announced \(.*EADDRINUSE.*\); the address works without it/])
  await announcer.close()
  t.equal(lines.length, 1)
})
