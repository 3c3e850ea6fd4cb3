import Type from 'typebox'
import { defineDriver } from '../../core/driver.ts'
import { type Bus, BusUnavailable } from './interface.ts'
import { BusState } from './state.ts'

/** A bus for one process. Messages never leave it, and two of these buses share nothing. */
export default defineDriver({
  family: 'bus',
  name: 'local',
  config: Type.Object({}, { additionalProperties: false }),

  async create(_config, { clock, log }): Promise<Bus> {
    const channels = new Map<string, Set<(message: string) => void>>()
    const state = new BusState(clock)
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
        return state.increment(key, windowMs)
      },
      async keepAlive(holder, ttlMs) {
        mustBeOpen()
        return state.keepAlive(holder, ttlMs)
      },
      async acquire(key, holder) {
        mustBeOpen()
        return state.acquire(key, holder)
      },
      async release(key, holder) {
        mustBeOpen()
        state.release(key, holder)
      },
      async save(key, fence, text, ttlMs) {
        mustBeOpen()
        return state.save(key, fence, text, ttlMs)
      },
      async append(key, fence, texts, ttlMs) {
        mustBeOpen()
        return state.append(key, fence, texts, ttlMs)
      },
      async load(key) {
        mustBeOpen()
        return state.load(key)
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
