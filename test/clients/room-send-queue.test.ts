// The frames of a client of rooms, until the server has acknowledged them.
import fc from 'fast-check'
import t from 'tap'
import { SendQueue } from '../../clients/browser/multiplayer/send-queue.ts'
import { SEED } from '../kit/seed.ts'

const LIMITS = { messagesPerSecond: 60, messageBurst: 120 }

/** A server and the network before it. It counts and limits as a room does. */
class Server {
  readonly received: string[] = []
  taken = 0
  acknowledged = 0
  /** What is on its way. */
  wire: string[] = []
  readonly #limits: typeof LIMITS
  readonly #now: () => number
  #left: number
  #at = 0
  isFlooded = false

  constructor(now: () => number, limits = LIMITS) {
    this.#now = now
    this.#limits = limits
    this.#left = limits.messageBurst
  }

  connect(queue: SendQueue, isSamePlace: boolean): number {
    const wire: string[] = []
    this.wire = wire
    const socket = { readyState: 1, send: (frame: unknown) => void wire.push(frame as string) } as const
    const dropped = queue.connect(socket, { taken: this.taken, limits: this.#limits }, isSamePlace)
    queue.flush()
    return dropped
  }

  /** Takes the first frames of those that are on their way. */
  take(count: number): void {
    const { messagesPerSecond, messageBurst } = this.#limits
    this.#left = Math.min(messageBurst, this.#left + ((this.#now() - this.#at) * messagesPerSecond) / 1000)
    this.#at = this.#now()
    for (const frame of this.wire.splice(0, count)) {
      this.#left -= Math.ceil(frame.length / 16_384)
      if (this.#left < 0) this.isFlooded = true
      this.taken++
      if (!frame.includes('ping')) this.received.push(frame.trimEnd())
    }
  }
}

t.beforeEach((t) => {
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
})

/** Replaces the time of the client. */
function manualTime() {
  let at = 1000
  performance.now = () => at
  return {
    now: () => at,
    pass: (ms: number) => {
      at += ms
    },
  }
}

t.test('through any cuts each frame arrives once, in order, and never too fast', async (t) => {
  const step = fc.record({
    do: fc.constantFrom('send', 'send', 'send', 'ping', 'take', 'take', 'ack', 'cut', 'wait', 'wait'),
    amount: fc.nat({ max: 130 }),
    isLarge: fc.boolean(),
  })
  const play = (steps: { do: string; amount: number; isLarge: boolean }[]) => {
    const time = manualTime()
    const [server, queue] = [new Server(time.now), new SendQueue()]
    server.connect(queue, false)
    let sent = 0
    /** A megabyte is kept, so only some frames between cuts are large. */
    const send = (isLarge = false) => {
      if (queue.push(`n${sent + 1}`.padEnd(isLarge ? 40_000 : 0)) === null) sent++
    }
    for (const { do: action, amount, isLarge } of steps) {
      if (action === 'send') for (let count = 0; count < amount; count++) send(isLarge && count < 2)
      else if (action === 'ping') queue.pushFirst('ping', { isPing: true })
      else if (action === 'take') server.take(amount)
      else if (action === 'wait') {
        time.pass(amount * 20)
        queue.flush()
      } else if (action === 'ack') queue.acknowledge(server.taken)
      else {
        // Some of what was on its way arrives, and the rest is lost.
        server.take(amount)
        queue.disconnect()
        for (let count = 0; count < amount % 20; count++) send()
        time.pass(250)
        if (server.connect(queue, true) !== 0) throw new Error('Frames were dropped.')
      }
    }
    for (let round = 0; server.received.length < sent; round++) {
      if (round > 10_000) throw new Error(`${server.received.length} of ${sent} have arrived.`)
      time.pass(100)
      server.take(1000)
      queue.acknowledge(server.taken)
    }
    queue.disconnect()
    server.received.forEach((frame, index) => {
      if (frame !== `n${index + 1}`) throw new Error(`${frame} is at place ${index + 1}.`)
    })
    if (server.isFlooded) throw new Error('The server would have sent the player away.')
  }
  fc.assert(fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), play), { seed: SEED, numRuns: 300 })
  t.pass('300 scripts')
})

t.test('another place gets what was not sent, without what names players, and a hundred at the most', async (t) => {
  const time = manualTime()
  const queue = new SendQueue()
  new Server(time.now).connect(queue, false)
  queue.push('sent, and perhaps taken')
  queue.disconnect()
  for (let count = 1; count <= 118; count++) queue.push(`n${count}`)
  queue.push('to p2', { isBound: true })
  const next = new Server(time.now)
  t.equal(next.connect(queue, false), 20)
  t.same([next.wire.length, next.wire[0], next.wire.at(-1)], [100, 'n19', 'n118'])
  queue.disconnect()
})

t.test('what the server would send the player away for is not sent, and the limit is said', async (t) => {
  const time = manualTime()
  const [server, queue] = [new Server(time.now), new SendQueue()]
  const limits = { ...LIMITS, frameBytes: 1000 }
  const wire: unknown[] = []
  queue.connect({ readyState: 1, send: (frame) => void wire.push(frame) }, { taken: 0, limits }, false)
  t.match(queue.push('x'.repeat(1001)), { code: 'too_large', limit: 1000 })
  t.match(queue.push('€'.repeat(334)), { code: 'too_large', limit: 1000 }, 'bytes count')
  t.match(queue.push(new ArrayBuffer(1001)), { code: 'too_large' })
  t.equal(queue.push('€'.repeat(333)), null)
  queue.disconnect()
  const steady = new SendQueue()
  server.connect(steady, false)
  const given = () => Array.from({ length: 200 }, () => steady.push('x')).filter((refusal) => refusal === null).length
  t.equal(given(), 120)
  t.match(steady.push('x'), { code: 'rate_limited', limit: 60 })
  time.pass(1000)
  t.equal(given(), 60)
  steady.disconnect()
  const large = new SendQueue()
  new Server(time.now).connect(large, false)
  const refusals = Array.from({ length: 31 }, () => large.push('x'.repeat(65_536))?.code)
  t.same(refusals.filter(Boolean), ['rate_limited'], 'each counts as four of 120')
  large.disconnect()
})

t.test('more than a megabyte is not kept, and what is lost is said', async (t) => {
  const time = manualTime()
  const [server, queue] = [new Server(time.now, { messagesPerSecond: 600, messageBurst: 1200 }), new SendQueue()]
  server.connect(queue, false)
  for (let count = 0; count < 10; count++) queue.push(`${count}${'x'.repeat(99_999)}`)
  server.take(4)
  queue.disconnect()
  for (let count = 10; count < 18; count++) queue.push(`${count}${'x'.repeat(99_999)}`)
  // Eight of eighteen are kept no more, and four of those have arrived.
  t.equal(server.connect(queue, true), 4)
  t.same(
    server.wire.map((frame) => Number.parseInt(frame, 10)),
    [8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
  )
  queue.disconnect()
})

t.test('a server of an earlier version gets each frame at once, and those of a break later', async (t) => {
  const queue = new SendQueue()
  const wire: string[] = []
  const socket = { readyState: 1, send: (frame: unknown) => void wire.push(frame as string) } as const
  queue.connect(socket, {}, false)
  for (let count = 0; count < 3; count++) queue.push(`n${count}`)
  t.same(wire, ['n0', 'n1', 'n2'])
  queue.disconnect()
  queue.push('n3')
  wire.length = 0
  t.equal(queue.connect(socket, {}, true), 0)
  queue.flush()
  t.same(wire, ['n3'])
})
