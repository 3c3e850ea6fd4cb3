import Type from 'typebox'
import { Secret } from '../../core/config.ts'
import { defineDriver } from '../../core/driver.ts'
import { StartupError } from '../../core/errors.ts'
import { type Bus, BusUnavailable } from './interface.ts'

/** How long an operation may wait for its answer. */
const ANSWER_MS = 1000
/** A connection that is silent for longer than this, our own pings included, is dead: close it and reconnect. */
const SILENCE_MS = 4000
const RECONNECT_MS = { first: 50, longest: 1000 }

/**
 * Within a script Redis stops its clock, so the counter can't expire between the two lines. A counter without an
 * expiry, whoever made it, gets one: it would otherwise lock its key for ever.
 */
const INCREMENT = `
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[1])
  redis.call('PEXPIRE', KEYS[1], left)
end
return { count, left }`

type Listener = (message: string) => void

/**
 * A bus over one Redis (6 or later, or Valkey), shared by every node with the same `url` and `keyPrefix`.
 *
 * It reconnects by itself and then hears its channels again. While the server is away operations fail at once instead
 * of queueing: an event that is minutes old or a count for a request long answered would only do harm.
 */
export default defineDriver({
  family: 'bus',
  name: 'redis',
  config: Type.Object(
    {
      url: Secret({ description: 'Address of the Redis server: redis[s]://[user:password@]host[:port][/database].' }),
      keyPrefix: Type.String({
        default: 'gameyard:',
        description: 'Begins every key and channel; installations that share one Redis need different ones.',
      }),
    },
    { additionalProperties: false },
  ),

  async create({ url, keyPrefix }, { log }): Promise<Bus> {
    if (!/^rediss?:\/\/./.test(url) || !URL.canParse(url))
      throw new StartupError('bus.url is no Redis address: write redis://host:6379 or rediss://host:6379.')
    const { createClient } = await import('redis') // 100 ms that only who uses it should wait

    let open = false
    const connect = async (role: string) => {
      let away = false
      const client = createClient({
        url,
        name: `gameyard-${role}`,
        disableOfflineQueue: true,
        maintNotifications: 'disabled',
        pingInterval: SILENCE_MS / 2,
        socket: {
          connectTimeout: SILENCE_MS,
          socketTimeout: SILENCE_MS,
          // The first connection must work, or the start fails; later ones are tried for as long as we run.
          reconnectStrategy: (retries, cause) =>
            open ? Math.min(RECONNECT_MS.first * 2 ** Math.min(retries, 10), RECONNECT_MS.longest) : cause,
        },
      })
      client.on('error', (error) => {
        if (!open || away) return
        away = true // one line an outage, not one an attempt
        log.error({ err: error, connection: role }, 'the Redis bus is away')
      })
      client.on('ready', () => {
        if (!away) return
        away = false
        log.info({ connection: role }, 'the Redis bus is back')
      })
      await client.connect()
      return client
    }

    let commands: Awaited<ReturnType<typeof connect>>
    let subscriber: Awaited<ReturnType<typeof connect>>
    try {
      commands = await connect('commands')
      try {
        subscriber = await connect('subscriber')
      } catch (error) {
        commands.destroy()
        throw error
      }
    } catch (error) {
      const { host } = new URL(url) // and nothing of the user and password
      const reason = error instanceof Error ? error.message : String(error)
      throw new StartupError(`The Redis bus at ${host} can't be used (${reason}): start it, or correct bus.url.`, {
        cause: error,
      })
    }
    open = true

    /**
     * The answer, or BusUnavailable. After one answer that did not come in time everything fails at once until it
     * comes or the connection is given up: callers don't wait in vain, and the silence stays measurable.
     */
    const answersOf = (client: typeof commands) => {
      let overdue = 0
      return async <Answer>(operation: () => Promise<Answer>): Promise<Answer> => {
        if (!open || !client.isReady || overdue > 0) throw new BusUnavailable()
        let timer: NodeJS.Timeout | undefined
        const answer = operation()
        const timeout = new Promise<never>((_resolve, reject) => {
          timer = setTimeout(() => {
            overdue++
            const settled = () => void overdue--
            answer.then(settled, settled)
            reject(new Error(`no answer within ${ANSWER_MS} ms`))
          }, ANSWER_MS)
        })
        try {
          return await Promise.race([answer, timeout])
        } catch (cause) {
          throw new BusUnavailable().with({ cause })
        } finally {
          clearTimeout(timer)
        }
      }
    }
    const command = answersOf(commands)
    const subscription = answersOf(subscriber)

    // One Redis subscription a channel, whoever listens, so that one that timed out can be asked for again.
    const channels = new Map<string, { listeners: Set<Listener>; dispatch: Listener; ready: boolean }>()
    const channelOf = (name: string) => {
      const listeners = new Set<Listener>()
      const dispatch: Listener = (message) => {
        for (const listener of listeners) {
          try {
            listener(message)
          } catch (error) {
            log.error({ err: error, channel: name }, 'a bus listener failed')
          }
        }
      }
      const channel = { listeners, dispatch, ready: false }
      channels.set(name, channel)
      return channel
    }

    return {
      async publish(channel, message) {
        await command(() => commands.publish(keyPrefix + channel, message))
      },
      async subscribe(name, listener) {
        const channel = channels.get(name) ?? channelOf(name)
        const own: Listener = (message) => listener(message)
        channel.listeners.add(own)
        try {
          if (!channel.ready) await subscription(() => subscriber.subscribe(keyPrefix + name, channel.dispatch))
          channel.ready = true
        } catch (error) {
          channel.listeners.delete(own)
          throw error
        }
        return async () => {
          channel.listeners.delete(own)
          if (channel.listeners.size > 0 || channels.get(name) !== channel) return
          channels.delete(name)
          // Nobody listens any more, whether or not the server hears of it.
          await subscription(() => subscriber.unsubscribe(keyPrefix + name, channel.dispatch)).catch(() => {})
        }
      },
      async increment(key, windowMs) {
        const answer = await command(() =>
          commands.eval(INCREMENT, { keys: [keyPrefix + key], arguments: [String(windowMs)] }),
        )
        const [count, resetMs] = answer as [number, number]
        return { count, resetMs }
      },
      async ping() {
        await command(() => commands.ping())
        await subscription(() => subscriber.ping())
      },
      async close() {
        open = false
        channels.clear()
        commands.destroy()
        subscriber.destroy()
      },
    }
  },
})
