// The mixed load on a server that bench/soak.ts uses.
import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'

/** Returns the resident memory of a process in MB. */
export const residentMb = (pid: number): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024)

/** Returns the number of open files and sockets of a process. */
export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

const PASSWORD = 'correct yard battery fence'
const PAGES = ['/', '/catalog', '/catalog?q=life', '/docs', '/settings', '/games', '/docs/api', '/sign-in']
/**
 * The share of each operation in percent. Sign-ups and sign-ins are few, since each takes 50 ms of CPU time by design.
 */
const SHARES = { page: 40, file: 25, whoami: 25, token: 7, room: 2, deploy: 0.6, account: 0.4 }
type Operation = keyof typeof SHARES

interface Person {
  cookie: string
}
interface Game {
  id: string
  host: string
}

/** Simulates the operations of users, some of them concurrently. */
export class MixedLoad {
  readonly counts: Record<Operation, number> = { page: 0, file: 0, whoami: 0, token: 0, room: 0, deploy: 0, account: 0 }
  done = 0
  readonly #portal: URL
  readonly #shares: [Operation, number][]
  // The server closes idle connections after 72 s. A request that meets such a close would fail, so this side is first.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 30_000 })
  readonly #people: Person[] = []
  readonly #games: Game[] = []
  #token = ''
  #failed: Error | null = null

  /** @param only limits the operations to these */
  constructor(portal: string, only: readonly string[] = Object.keys(SHARES)) {
    this.#portal = new URL(portal)
    this.#shares = Object.entries(SHARES).filter(([kind]) => only.includes(kind)) as [Operation, number][]
  }

  /** Creates the first accounts and games. */
  async begin(): Promise<void> {
    for (let number = 0; number < 5; number++) await this.#account()
    const scopes = ['games:write', 'games:read', 'deployments:write']
    const cookie = this.#somebody().cookie
    const made = await this.#ask('POST', '/api/tokens', { cookie, body: { label: 'life', scopes } }, 201)
    this.#token = JSON.parse(made.body).token
    for (let number = 0; number < 10; number++) {
      const settings = { multiplayer: { guests: true } }
      const body = { title: `MixedLoad ${randomUUID()}`, description: 'A game of this measurement.', settings }
      const game = JSON.parse((await this.#ask('POST', '/api/games', { token: this.#token, body }, 201)).body)
      const one = { id: game.id, host: new URL(game.url).host }
      await this.#deploy(one)
      this.#games.push(one)
    }
  }

  /** Runs operations at a constant rate for `ms`, at most 64 at a time. @throws the first failure */
  async run(rate: number, ms: number): Promise<void> {
    const began = performance.now()
    const underWay = new Set<Promise<void>>()
    for (let number = 0; ; number++) {
      const elapsed = performance.now() - began
      if (elapsed >= ms || this.#failed) break
      const early = (number / rate) * 1000 - elapsed
      if (early > 2) await sleep(early)
      if (underWay.size >= 64) await Promise.race(underWay)
      const one = this.#one(number)
        .catch((error) => {
          this.#failed ??= error
        })
        .finally(() => underWay.delete(one))
      underWay.add(one)
    }
    await Promise.all(underWay)
    this.#agent.destroy()
    if (this.#failed) throw this.#failed
  }

  async #one(number: number): Promise<void> {
    const kind = kindOf(this.#shares, number)
    if (kind === 'page') await this.#page(number)
    else if (kind === 'file') await this.#ask('GET', '/', { host: this.#game().host })
    else if (kind === 'whoami') await this.#ask('GET', '/api/cli/whoami', { token: this.#token })
    else if (kind === 'token') await this.#tokenLife()
    else if (kind === 'room') await this.#room(number)
    else if (kind === 'deploy') await this.#deploy(this.#game())
    else await this.#account()
    this.counts[kind]++
    this.done++
  }

  async #page(number: number): Promise<void> {
    const path = PAGES[number % PAGES.length] as string
    await this.#ask('GET', path, { cookie: this.#somebody().cookie }, path === '/sign-in' ? 303 : 200)
  }

  async #account(): Promise<void> {
    const body = { email: `${randomUUID()}@example.org`, password: PASSWORD, name: 'MixedLoad' }
    const { headers } = await this.#ask('POST', '/api/auth/sign-up', { body }, 201)
    const cookie = String(headers['set-cookie']?.[0]).split(';', 1)[0] as string
    // This is enough for sessions to enter and leave the server's memory, and limits the memory of this process.
    if (this.#people.push({ cookie }) > 100) this.#people.shift()
  }

  async #tokenLife(): Promise<void> {
    const { cookie } = this.#somebody()
    const body = { label: 'short', scopes: ['games:read'] }
    const made = JSON.parse((await this.#ask('POST', '/api/tokens', { cookie, body }, 201)).body)
    await this.#ask('GET', '/api/cli/whoami', { token: made.token })
    await this.#ask('DELETE', `/api/tokens/${made.id}`, { cookie }, 204)
  }

  async #deploy({ id }: Game): Promise<void> {
    const token = this.#token
    const page = Buffer.from(
      `<!doctype html><title>MixedLoad</title><p>${randomUUID()}</p>${'<p>line</p>'.repeat(500)}`,
    )
    const script = Buffer.from(`const id = '${randomUUID()}'\n${'console.log(id)\n'.repeat(4000)}`)
    const files = [
      ['index.html', page],
      ['game.js', script],
    ] as const
    const announced = files.map(([path, bytes]) => ({
      path,
      size: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    }))
    const begun = JSON.parse(
      (await this.#ask('POST', '/api/deploy', { token, body: { gameId: id, files: announced } }, 200)).body,
    )
    for (const { path, uploadUrl, method, headers } of begun.uploads) {
      const bytes = files.find(([name]) => name === path)?.[1] as Buffer
      const { pathname, search } = new URL(uploadUrl)
      await this.#ask(method, pathname + search, { headers, bytes }, null)
    }
    // Another deploy of the same game may have gone live first, or this one may have expired.
    await this.#ask('POST', `/api/deploy/${begun.deployId}/finalize`, { token }, null)
  }

  async #room(number: number): Promise<void> {
    const { host } = this.#game()
    const { port } = this.#portal
    const socket = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/life-${number % 20}`, {
      headers: { host, origin: `http://${host}` },
    })
    await new Promise<void>((done, fail) => {
      let heard = 0
      socket.on('message', () => {
        if (++heard === 1) {
          for (let said = 0; said < 20; said++)
            socket.send(JSON.stringify({ t: 'send', type: 'move', data: { x: said } }))
          setTimeout(() => socket.close(), 500)
        }
      })
      socket.on('close', () => done())
      socket.on('error', (error) => fail(new Error(`a room: ${error.message}`, { cause: error })))
      socket.on('unexpected-response', (_request, response) =>
        fail(new Error(`a room was answered with ${response.statusCode}`)),
      )
    })
  }

  #somebody = (): Person => this.#people[Math.floor(Math.random() * this.#people.length)] as Person
  #game = (): Game => this.#games[Math.floor(Math.random() * this.#games.length)] as Game

  #ask(
    method: string,
    path: string,
    {
      host = this.#portal.host,
      cookie,
      token,
      body,
      bytes,
      headers = {},
    }: {
      host?: string
      cookie?: string
      token?: string
      body?: object
      bytes?: Buffer
      headers?: Record<string, string>
    },
    expected: number | null = 200,
  ): Promise<{ body: string; headers: import('node:http').IncomingHttpHeaders }> {
    const payload = bytes ?? (body && Buffer.from(JSON.stringify(body)))
    return new Promise((done, fail) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port: this.#portal.port,
          agent: this.#agent,
          method,
          path,
          headers: {
            host,
            origin: this.#portal.origin,
            ...(cookie ? { cookie } : {}),
            ...(token ? { authorization: `Bearer ${token}` } : {}),
            ...(body ? { 'content-type': 'application/json' } : {}),
            ...(payload ? { 'content-length': payload.length } : {}),
            ...headers,
          },
        },
        (incoming) => {
          const chunks: Buffer[] = []
          incoming.on('data', (chunk) => chunks.push(chunk))
          incoming.on('error', fail)
          incoming.on('end', () => {
            const text = Buffer.concat(chunks).toString()
            const status = incoming.statusCode ?? 0
            if (expected !== null ? status === expected || (expected === 200 && status === 201) : status < 500) {
              done({ body: text, headers: incoming.headers })
            } else fail(new Error(`${method} ${path}: ${status} ${text.slice(0, 300)}`))
          })
        },
      )
      outgoing.on('error', (error) => fail(new Error(`${method} ${path}: ${error.message}`, { cause: error })))
      outgoing.end(payload)
    })
  }
}

/** Selects an operation by its share, in an even distribution. */
function kindOf(shares: readonly [Operation, number][], number: number): Operation {
  const total = shares.reduce((sum, [, share]) => sum + share, 0)
  // A step coprime to 1000 reaches all of a thousand positions.
  let at = (((number * 379) % 1000) / 1000) * total
  for (const [kind, share] of shares) {
    at -= share
    if (at < 0) return kind
  }
  return shares[0]?.[0] ?? 'page'
}
