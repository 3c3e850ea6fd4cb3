import Type from 'typebox'
import { Counters } from '../../core/counters.ts'
import { defineDriver } from '../../core/driver.ts'
import { type Bus, BusUnavailable } from './interface.ts'

/** A bus for one process: nothing leaves it, and two of them share nothing. */
export default defineDriver({
  family: 'bus',
  name: 'local',
  config: Type.Object({}, { additionalProperties: false }),

  async create(_config, { clock, log }): Promise<Bus> {
    const channels = new Map<string, Set<(message: string) => void>>()
    const counters = new Counters(clock)
    let closed = false
    const mustBeOpen = () => {
      if (closed) throw new BusUnavailable()
    }

    return {
      async publish(channel, message) {
        mustBeOpen()
        // After the publisher's own step, as on a network: a listener that publishes does not run inside another.
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
        // Wrapped, so that the same function subscribed twice is two subscriptions.
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
