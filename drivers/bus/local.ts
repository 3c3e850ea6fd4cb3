import Type from 'typebox'
import { Counters } from '../../core/data/counters.ts'
import { defineDriver } from '../../core/driver.ts'
import { type Bus, BusUnavailable, type Lease } from './interface.ts'

/** A bus for one process. Messages never leave it, and two of these buses share nothing. */
export default defineDriver({
  family: 'bus',
  name: 'local',
  config: Type.Object({}, { additionalProperties: false }),

  async create(_config, { clock, log }): Promise<Bus> {
    const channels = new Map<string, Set<(message: string) => void>>()
    const counters = new Counters(clock)
    const leases = new Map<string, Lease>()
    /** Expiry of each holder, in ms since 1970. */
    const holders = new Map<string, number>()
    const records = new Map<string, { fence: number; texts: string[]; until: number }>()
    let fence = 0
    const now = () => clock.now().getTime()
    const lives = (holder: string) => (holders.get(holder) ?? 0) > now()
    const recordOf = (key: string) => {
      const record = records.get(key)
      if (record && record.until <= now()) records.delete(key)
      return records.get(key)
    }
    let closed = false
    const mustBeOpen = () => {
      if (closed) throw new BusUnavailable()
    }

    return {
      shared: false,
      async publish(channel, message) {
        mustBeOpen()
        // Delivery happens after the publisher's current step, as over a network, so that listeners never nest.
        await null
        for (const listener of channels.get(channel) ?? []) {
          try {
            listener(message)
          } catch (error) {
            log.error({ err: error, channel }, 'a bus listener failed')
          }
        }
      },
      async subscribe(channel, listener) {
        mustBeOpen()
        // The wrapper makes two subscriptions of the same function distinct.
        const own = (message: string) => listener(message)
        const listeners = channels.get(channel) ?? new Set()
        channels.set(channel, listeners.add(own))
        return async () => {
          listeners.delete(own)
          if (listeners.size === 0 && channels.get(channel) === listeners) channels.delete(channel)
        }
      },
      async increment(key, windowMs) {
        mustBeOpen()
        return counters.increment(key, windowMs)
      },
      async keepAlive(holder, ttlMs) {
        mustBeOpen()
        const before = lives(holder)
        holders.set(holder, now() + ttlMs)
        return before
      },
      async acquire(key, holder) {
        mustBeOpen()
        const held = leases.get(key)
        if (held && (held.holder === holder || lives(held.holder))) return held
        const lease = { holder, fence: ++fence }
        leases.set(key, lease)
        return lease
      },
      async release(key, holder) {
        mustBeOpen()
        if (leases.get(key)?.holder !== holder) return
        leases.delete(key)
        records.delete(key)
      },
      async save(key, fence, text, ttlMs) {
        mustBeOpen()
        if ((recordOf(key)?.fence ?? 0) > fence) return false
        records.set(key, { fence, texts: [text], until: now() + ttlMs })
        return true
      },
      async append(key, fence, texts, ttlMs) {
        mustBeOpen()
        const record = recordOf(key)
        if (record?.fence !== fence) return false
        record.texts.push(...texts)
        record.until = now() + ttlMs
        return true
      },
      async load(key) {
        mustBeOpen()
        const record = recordOf(key)
        return record ? { fence: record.fence, texts: [...record.texts] } : null
      },
      async ping() {
        mustBeOpen()
      },
      async close() {
        closed = true
        channels.clear()
      },
    }
  },
})
