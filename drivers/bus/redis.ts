import Type from 'typebox'
import { Authorities, Secret } from '../../core/config.ts'
import { defineDriver } from '../../core/driver.ts'
import { StartupError } from '../../core/errors.ts'
import { type Bus, BusUnavailable } from './interface.ts'
import { AddressWatch, takesNoWrites, unsupportedMode } from './redis-failover.ts'

/** Timeout of an operation. */
const ANSWER_MS = 1000
/** A connection that is silent for longer than this, although it sends pings, is dead: it is closed and reopened. */
const SILENCE_MS = 4000
const RECONNECT_MS = { first: 50, longest: 1000 }
/** Interval of the check whether the server still takes writes, and least time between two reconnections for it. */
const CHECK_MS = 5000
const RENEW_MS = 1000

/**
 * Redis freezes its clock within a script, so the counter can't expire between the two lines. A counter without an
 * expiry, whatever created it, gets one: it would otherwise block its key for ever.
 */
const INCREMENT = `
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[1])
  redis.call('PEXPIRE', KEYS[1], left)
end
return { count, left }`

/** The key of the health check expires, since the installation may end. */
const HEALTH = { expiration: { type: 'EX', value: 3600 } } as const

/** Lease keys outlive their holders so that the next holder gets a greater fence, but they expire eventually. */
const LEASE_KEPT_MS = 24 * 3600 * 1000

const KEEP_ALIVE = `
local alive = redis.call('EXISTS', KEYS[1])
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return alive`

/**
 * The fence starts from the clock of the requesting node. If it restarted at one after Redis had lost its data, an
 * earlier holder could keep the new one out.
 */
const ACQUIRE = `
local lease = redis.call('HMGET', KEYS[1], 'holder', 'fence')
if lease[1] == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return lease
end
if lease[1] and redis.call('EXISTS', ARGV[2] .. lease[1]) == 1 then return lease end
local fence = math.max((tonumber(redis.call('GET', KEYS[2]) or '0')) + 1, tonumber(ARGV[3]))
local text = string.format('%.0f', fence)
redis.call('SET', KEYS[2], text)
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'fence', text)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { ARGV[1], text }`

const RELEASE = `
if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then redis.call('DEL', KEYS[1], KEYS[2]) end
return 1`

/** A record is a list: the fence, the saved text, the appended texts. */
const SAVE = `
local fence = tonumber(redis.call('LINDEX', KEYS[1], 0) or '0')
if fence > tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('RPUSH', KEYS[1], ARGV[1], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`

const APPEND = `
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return 0 end
for at = 3, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[at]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`

type Listener = (message: string) => void

/**
 * A bus over one Redis (6 or later, or Valkey), shared by every node with the same `url` and `keyPrefix`.
 *
 * It reconnects and resubscribes automatically. While the server is unavailable operations fail at once instead of
 * queueing: a late event, or a late count for a request that has been answered, would only do harm. After a failover the
 * old primary may live on as a replica; then the connections are closed and reopened, because the address leads to the
 * new one.
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
      ca: Authorities('the Redis server'),
    },
    { additionalProperties: false },
  ),

  check: checkAddress,

  async create(config, { clock, log }): Promise<Bus> {
    checkAddress(config)
    const { url, keyPrefix, ca } = config
    const { createClient } = await import('redis') // The import takes 100 ms, so only this driver loads it.

    const { host, hostname } = new URL(url) // omits user and password
    const address = new AddressWatch(hostname)
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
          ...(ca === undefined ? {} : { tls: true, ca }),
          connectTimeout: SILENCE_MS,
          socketTimeout: SILENCE_MS,
          // The start fails if the first connection does; later reconnects are retried as long as the process runs.
          reconnectStrategy: (retries, cause) =>
            open ? Math.min(RECONNECT_MS.first * 2 ** Math.min(retries, 10), RECONNECT_MS.longest) : cause,
        },
      })
      client.on('error', (error) => {
        if (!open || away) return
        away = true // logs one line for each outage, not for each attempt
        log.error({ err: error, connection: role }, 'the Redis bus is unavailable')
      })
      client.on('connect', () => void address.remember())
      client.on('ready', () => {
        if (!away) return
        away = false
        log.info({ connection: role }, 'the Redis bus is available again')
      })
      await client.connect()
      return client
    }

    let commands: Awaited<ReturnType<typeof connect>>
    let subscriber: Awaited<ReturnType<typeof connect>>
    try {
      commands = await connect('commands')
      try {
        const unsupported = unsupportedMode(await commands.info('server').catch(() => ''))
        if (unsupported) throw new Error(unsupported)
        await commands.set(`${keyPrefix}health`, '1', HEALTH)
        subscriber = await connect('subscriber')
      } catch (error) {
        commands.destroy()
        throw error
      }
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      const reason = takesNoWrites(error) ? `it takes no writes: ${said}` : said
      const fix = /certificate/i.test(said)
        ? 'name the server as in its certificate, and the authority with bus.ca: { file: ca.pem }'
        : 'start it, or correct bus.url'
      throw new StartupError(`The Redis bus at ${host} can't be used (${reason}): ${fix}.`, { cause: error })
    }
    open = true

    let renewedAt = -Infinity
    /** Closes both connections at the server's end. They are reopened as after any loss. */
    const renew = (reason: string) => {
      const now = performance.now()
      if (now - renewedAt < RENEW_MS) return
      renewedAt = now
      log.warn({ reason }, 'the Redis bus connects again')
      for (const client of [commands, subscriber]) client.sendCommand(['QUIT']).catch(() => {})
    }

    /**
     * Returns the reply, or throws BusUnavailable. After one reply that did not arrive in time, every operation fails
     * at once until it arrives or the connection is given up: callers don't wait in vain, and the length of the silence
     * stays measurable.
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
          if (takesNoWrites(cause)) renew((cause as Error).message)
          throw new BusUnavailable().with({ cause })
        } finally {
          clearTimeout(timer)
        }
      }
    }
    const command = answersOf(commands)
    const subscription = answersOf(subscriber)
    const run = (script: string, keys: string[], values: (string | number)[]) =>
      command(() => commands.eval(script, { keys: keys.map((key) => keyPrefix + key), arguments: values.map(String) }))

    const ping = async () => {
      if (await address.hasMoved()) renew('the name of the server leads to another address')
      // A replica answers everything that only reads.
      await command(() => commands.set(`${keyPrefix}health`, '1', HEALTH))
      await subscription(() => subscriber.ping())
    }
    const checks = setInterval(() => ping().catch(() => {}), CHECK_MS).unref()

    // Each channel has one Redis subscription for all listeners, so that a subscription that timed out can be retried.
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
      shared: true,
      outlivesNodes: true,
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
          // No listener remains, so it does not matter whether the server processes this.
          await subscription(() => subscriber.unsubscribe(keyPrefix + name, channel.dispatch)).catch(() => {})
        }
      },
      async subscribers(channel) {
        const counts = await command(() => commands.pubSubNumSub([keyPrefix + channel]))
        return Number(counts[keyPrefix + channel] ?? 0)
      },
      async increment(key, windowMs) {
        const [count, resetMs] = (await run(INCREMENT, [key], [windowMs])) as [number, number]
        return { count, resetMs }
      },
      async keepAlive(holder, ttlMs) {
        return (await run(KEEP_ALIVE, [`alive:${holder}`], [ttlMs])) === 1
      },
      async acquire(key, holder) {
        const values = [holder, `${keyPrefix}alive:`, clock.now().getTime(), LEASE_KEPT_MS]
        const [owner, fence] = (await run(ACQUIRE, [`lease:${key}`, 'fence'], values)) as [string, string]
        return { holder: owner, fence: Number(fence) }
      },
      async release(key, holder) {
        await run(RELEASE, [`lease:${key}`, `record:${key}`], [holder])
      },
      async save(key, fence, text, ttlMs) {
        return (await run(SAVE, [`record:${key}`], [fence, ttlMs, text])) === 1
      },
      async append(key, fence, texts, ttlMs) {
        return (await run(APPEND, [`record:${key}`], [fence, ttlMs, ...texts])) === 1
      },
      async load(key) {
        const [fence, ...texts] = await command(() => commands.lRange(`${keyPrefix}record:${key}`, 0, -1))
        return fence === undefined ? null : { fence: Number(fence), texts }
      },
      ping,
      async close() {
        open = false
        clearInterval(checks)
        channels.clear()
        commands.destroy()
        subscriber.destroy()
      },
    }
  },
})

/** @throws StartupError for an address that is none, or that `ca` contradicts */
function checkAddress({ url, ca }: { url: string; ca?: string | undefined }): void {
  if (!/^rediss?:\/\/./.test(url) || !URL.canParse(url))
    throw new StartupError(
      'bus.url is no Redis address: write redis://host:6379 or rediss://host:6379. Addresses of a Sentinel or of a Redis Cluster are not supported.',
    )
  if (ca !== undefined && !url.startsWith('rediss:'))
    throw new StartupError('bus.ca is for a connection by TLS, and bus.url has none: write rediss://host:6379.')
}
