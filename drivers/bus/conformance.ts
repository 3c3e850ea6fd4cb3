import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Bus } from './interface.ts'

/** The parts of a driver that the suite needs. */
export interface BusSubject {
  /** The driver's name, shown in the results. */
  name: string
  /** Opens a bus. A test may call it several times; the buses then share one server, if the driver has one. */
  create(): Promise<Bus>
  /** Removes the resources of `create` outside the process; called once, at the end. */
  destroy?(): Promise<void>
  supports: {
    /** The driver's `shared`: whether two buses of `create` are connected. If false, they must share nothing. */
    shared: boolean
  }
}

/** Maximum delay of a message or an expiry. */
const PATIENCE_MS = 60_000

/**
 * The contract of `Bus` (core/events.ts) as tests (for tap). The platform runs on every driver that passes them.
 *
 *     testBusDriver({ name: 'nats', create: () => nats.create(config, context), supports: { shared: true } })
 */
export function testBusDriver({ name, create, destroy, supports }: BusSubject): void {
  // The server may hold channels and keys of an earlier run, so these are unique.
  const run = `conformance-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`
  let used = 0
  const fresh = () => `${run}-${used++}`

  t.test(`bus driver ${name}`, async (t) => {
    const open = async (t: Test) => {
      const bus = await create()
      t.teardown(() => bus.close())
      return bus
    }

    await t.test(
      'a message reaches every subscriber of its channel, the sender among them, and no other',
      async (t) => {
        const bus = await open(t)
        const [channel, other] = [fresh(), fresh()]
        const first = await listen(bus, channel)
        const second = await listen(bus, channel)
        const elsewhere = await listen(bus, other)
        await bus.publish(channel, 'hello')
        t.same(await first.received(1), ['hello'])
        t.same(await second.received(1), ['hello'])
        await bus.publish(other, 'end')
        t.same(await elsewhere.received(1), ['end'])
        t.same(first.messages, ['hello'])
      },
    )

    await t.test('messages of one channel arrive in the order in which they were published', async (t) => {
      const bus = await open(t)
      const channel = fresh()
      const subscription = await listen(bus, channel)
      const sent = Array.from({ length: 500 }, (_, index) => String(index))
      await Promise.all(sent.map((message) => bus.publish(channel, message)))
      t.same(await subscription.received(500), sent)
    })

    await t.test('empty, unicode and large messages arrive as they were', async (t) => {
      const bus = await open(t)
      const channel = fresh()
      const subscription = await listen(bus, channel)
      const sent = ['', 'Grüße, 世界 🎮\u0000\r\n"', 'é'.repeat(512 * 1024)]
      for (const message of sent) await bus.publish(channel, message)
      const received = await subscription.received(3)
      t.ok(
        received.every((message, index) => message === sent[index]),
        'each message is what was sent',
      )
    })

    await t.test('publishing where nobody listens is no error', async (t) => {
      await t.resolves((await open(t)).publish(fresh(), 'into the void'))
    })

    await t.test('an ended subscription hears nothing more, and the others go on', async (t) => {
      const bus = await open(t)
      const channel = fresh()
      const stays = await listen(bus, channel)
      const leaves = await listen(bus, channel)
      await leaves.end()
      await t.resolves(leaves.end(), 'ending it again is no error')
      await bus.publish(channel, 'one')
      t.same(await stays.received(1), ['one'])
      t.same(leaves.messages, [])

      await stays.end()
      const returns = await listen(bus, channel)
      await bus.publish(channel, 'two')
      t.same(await returns.received(1), ['two'], 'the channel can be subscribed to again')
      t.same(stays.messages, ['one'])
    })

    await t.test('one function subscribed twice is two subscriptions', async (t) => {
      const bus = await open(t)
      const channel = fresh()
      let deliveries = 0
      const listener = () => void deliveries++
      const end = await bus.subscribe(channel, listener)
      await bus.subscribe(channel, listener)
      await bus.publish(channel, 'x')
      await until(() => deliveries === 2)
      await end()
      await bus.publish(channel, 'x')
      await until(() => deliveries === 3)
      t.equal(deliveries, 3)
    })

    await t.test('a listener that throws disturbs neither the publisher nor other listeners', async (t) => {
      const bus = await open(t)
      const channel = fresh()
      await bus.subscribe(channel, () => {
        throw new Error('on purpose')
      })
      const subscription = await listen(bus, channel)
      await bus.publish(channel, 'one')
      await bus.publish(channel, 'two')
      t.same(await subscription.received(2), ['one', 'two'])
    })

    await t.test('a listener may publish', async (t) => {
      const bus = await open(t)
      const [question, answer] = [fresh(), fresh()]
      const subscription = await listen(bus, answer)
      await bus.subscribe(question, (message) => void bus.publish(answer, `${message}!`))
      await bus.publish(question, 'marco')
      t.same(await subscription.received(1), ['marco!'])
    })

    await t.test('200 increments at once yield each count from 1 to 200', async (t) => {
      const bus = await open(t)
      const buses = supports.shared ? [bus, await open(t)] : [bus]
      const key = fresh()
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, index) => (buses[index % buses.length] as Bus).increment(key, 60_000)),
      )
      const counts = results.map((result) => result.count).sort((a, b) => a - b)
      t.same(
        counts,
        Array.from({ length: 200 }, (_, index) => index + 1),
      )
      t.ok(
        results.every(({ resetMs }) => resetMs > 0 && resetMs <= 60_000),
        'the end of the window lies ahead, and no further than the window is long',
      )
    })

    await t.test('a counter is gone when the window ends that its first increment opened', async (t) => {
      const bus = await open(t)
      const key = fresh()
      const first = await bus.increment(key, 600_000)
      t.equal(first.count, 1)
      await sleep(50)
      const second = await bus.increment(key, 600_000)
      t.equal(second.count, 2)
      t.ok(
        second.resetMs < first.resetMs,
        `a later increment does not move the end of the window (${second.resetMs} ms left)`,
      )
      const brief = fresh()
      await bus.increment(brief, 500)
      await until(async () => (await bus.increment(brief, 500)).count === 1)
      t.pass('although it was incremented all the time')
    })

    await t.test('counters are apart by key', async (t) => {
      const bus = await open(t)
      const [one, other] = [fresh(), fresh()]
      await bus.increment(one, 60_000)
      t.equal((await bus.increment(one, 60_000)).count, 2)
      t.equal((await bus.increment(other, 60_000)).count, 1)
    })

    await t.test('a lease is held by one while it lives, and by the next with a greater fence', async (t) => {
      const bus = await open(t)
      const other = supports.shared ? await open(t) : bus
      const [key, ada, bob] = [fresh(), fresh(), fresh()]
      t.equal(await bus.keepAlive(ada, 60_000), false, 'it was not alive before')
      t.equal(await bus.keepAlive(ada, 60_000), true)
      await other.keepAlive(bob, 60_000)
      const first = await bus.acquire(key, ada)
      t.equal(first.holder, ada)
      t.same(await bus.acquire(key, ada), first, 'asking again changes nothing')
      t.same(await other.acquire(key, bob), first, 'another is told who has it')
      t.equal((await other.acquire(fresh(), bob)).holder, bob, 'leases are apart by key')
      await bus.keepAlive(ada, 1)
      await until(async () => (await other.acquire(key, bob)).holder === bob)
      const second = await other.acquire(key, bob)
      t.equal(second.holder, bob, 'a holder that does not renew it loses it')
      t.ok(second.fence > first.fence, `${second.fence} > ${first.fence}`)
      t.equal(await bus.keepAlive(ada, 60_000), false)
      t.same(await bus.acquire(key, ada), second)
      await bus.release(key, ada)
      t.same(await bus.acquire(key, ada), second, 'only its holder gives it back')
      await other.release(key, bob)
      const third = await bus.acquire(key, ada)
      t.equal(third.holder, ada)
      t.ok(third.fence > second.fence)
    })

    await t.test('20 that ask at once for a lease agree on one holder', async (t) => {
      const bus = await open(t)
      const key = fresh()
      const holders = Array.from({ length: 20 }, fresh)
      for (const holder of holders) await bus.keepAlive(holder, 60_000)
      const leases = await Promise.all(holders.map((holder) => bus.acquire(key, holder)))
      t.equal(new Set(leases.map(({ holder, fence }) => `${holder} ${fence}`)).size, 1)
    })

    await t.test('what a holder saves and appends is loaded in order, and only the latest fence writes', async (t) => {
      const bus = await open(t)
      const other = supports.shared ? await open(t) : bus
      const key = fresh()
      t.equal(await bus.load(key), null)
      t.equal(await bus.append(key, 5, ['x'], 60_000), false, 'nothing to append to')
      t.equal(await bus.save(key, 5, 'first', 60_000), true)
      t.equal(await bus.append(key, 5, ['a', ''], 60_000), true)
      t.equal(await bus.append(key, 5, ['Grüße 🎮\u0000"'], 60_000), true)
      t.same(await other.load(key), { fence: 5, texts: ['first', 'a', '', 'Grüße 🎮\u0000"'] })
      t.equal(await other.save(key, 7, 'taken over', 60_000), true)
      t.equal(await bus.append(key, 5, ['late'], 60_000), false, 'the former holder is told')
      t.equal(await bus.save(key, 5, 'late', 60_000), false)
      t.same(await bus.load(key), { fence: 7, texts: ['taken over'] })
      t.equal(await other.save(key, 7, 'again', 60_000), true, 'a holder replaces its own')
      t.same(await bus.load(key), { fence: 7, texts: ['again'] })
    })

    await t.test('a record goes when its time is over, or with its lease', async (t) => {
      const bus = await open(t)
      const [key, holder] = [fresh(), fresh()]
      // On a busy machine it may be over before the second command.
      await until(async () => (await bus.save(key, 1, 'brief', 500)) && (await bus.append(key, 1, [], 60_000)))
      await sleep(600)
      t.same((await bus.load(key))?.texts, ['brief'], 'appending nothing made it last')
      await bus.append(key, 1, [], 1)
      await until(async () => (await bus.load(key)) === null)
      t.pass('and its time is over')
      await bus.keepAlive(holder, 60_000)
      const { fence } = await bus.acquire(key, holder)
      await bus.save(key, fence, 'text', 60_000)
      await bus.release(key, holder)
      t.equal(await bus.load(key), null)
    })

    if (supports.shared) {
      await t.test('two buses hear each other in order and count together', async (t) => {
        const [one, two] = [await open(t), await open(t)]
        const channel = fresh()
        const subscription = await listen(two, channel)
        const sent = Array.from({ length: 100 }, (_, index) => String(index))
        await Promise.all(sent.map((message) => one.publish(channel, message)))
        t.same(await subscription.received(100), sent)

        const key = fresh()
        await one.increment(key, 60_000)
        t.equal((await two.increment(key, 60_000)).count, 2)
      })

      await t.test('the nodes that have subscribed to a channel are counted, by drivers that can tell', async (t) => {
        const [one, two, three] = [await open(t), await open(t), await create()]
        if (!one.subscribers) {
          t.notOk(two.subscribers)
          await three.close()
          return
        }
        const channel = fresh()
        t.equal(await one.subscribers(channel), 0)
        for (const bus of [two, two, three]) await listen(bus, channel)
        t.equal(await one.subscribers(channel), 2)
        await three.close()
        await until(async () => (await one.subscribers?.(channel)) === 1)
      })

      await t.test('closing one bus leaves the other open', async (t) => {
        const [one, two] = [await create(), await open(t)]
        const subscription = await listen(two, fresh())
        await one.close()
        await two.publish(subscription.channel, 'still here')
        t.same(await subscription.received(1), ['still here'])
      })
    } else {
      await t.test('two buses share nothing', async (t) => {
        const [one, two] = [await open(t), await open(t)]
        const channel = fresh()
        const near = await listen(one, channel)
        const far = await listen(two, channel)
        await one.publish(channel, 'hello')
        await near.received(1)
        await sleep(50)
        t.same(far.messages, [])
        const key = fresh()
        await one.increment(key, 60_000)
        t.equal((await two.increment(key, 60_000)).count, 1)
      })
    }

    await t.test('ping resolves while open; after close everything rejects', async (t) => {
      const bus = await create()
      t.equal(bus.shared, supports.shared)
      await bus.ping()
      const end = await bus.subscribe(fresh(), () => {})
      await bus.close()
      await t.resolves(end(), 'ending a subscription is no error')
      const unavailable = { code: /^bus_unavailable$/i, statusCode: 503 }
      await t.rejects(bus.ping(), unavailable)
      await t.rejects(bus.publish(fresh(), 'x'), unavailable)
      await t.rejects(
        bus.subscribe(fresh(), () => {}),
        unavailable,
      )
      await t.rejects(bus.increment(fresh(), 1000), unavailable)
      await t.rejects(bus.keepAlive(fresh(), 1000), unavailable)
      await t.rejects(bus.acquire(fresh(), fresh()), unavailable)
      await t.rejects(bus.release(fresh(), fresh()), unavailable)
      await t.rejects(bus.save(fresh(), 1, 'x', 1000), unavailable)
      await t.rejects(bus.append(fresh(), 1, ['x'], 1000), unavailable)
      await t.rejects(bus.load(fresh()), unavailable)
    })

    await destroy?.()
  })
}

async function listen(bus: Bus, channel: string) {
  const messages: string[] = []
  const end = await bus.subscribe(channel, (message) => void messages.push(message))
  return {
    channel,
    messages,
    end,
    /** Returns the messages so far, once there are `count` or the timeout expires. */
    async received(count: number) {
      await until(() => messages.length >= count)
      return messages
    },
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await condition()); await sleep(5))
    if (Date.now() > deadline) throw new Error(`Nothing happened within ${PATIENCE_MS} ms: ${condition}`)
}
