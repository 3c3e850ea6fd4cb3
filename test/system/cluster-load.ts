import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '../kit/cluster.ts'
import { ask, type HttpAnswer } from '../kit/upload.ts'
import type { Visitor } from '../kit/visitor.ts'
import { type Call, deployPage, PASSWORD, signUp, tokenOf } from './cluster-players.ts'

/** A client tries again for so long before it gives up. */
const PATIENCE_MS = 60_000
/** What a node remembers it may go on believing, where it missed that it is over, and a second. */
const STALE_MS = 6000
const SCOPES = ['games:read', 'games:write', 'deployments:write', 'ai:generate']

/** What clients saw. */
export interface Tally {
  requests: number
  /** First answers that were none, or were the server's fault. */
  errors: string[]
  /** Those of them that were no better when they were sent again once. */
  again: string[]
  /** What stayed wrong after all that a client can do. */
  failures: string[]
}

/** One developer with a game: does this and that, one thing after the other, and knows what was acknowledged. */
class Developer {
  readonly #cluster: Cluster
  readonly #tally: Tally
  readonly #browser: Visitor & { email: string }
  readonly #token: string
  readonly #game: { id: string; slug: string }
  /** What the cluster has said is done. */
  readonly done = { title: 'v0', description: 'A game.', games: [] as string[], generations: new Set<string>() }
  #steps = 0

  private constructor(
    cluster: Cluster,
    tally: Tally,
    browser: Visitor & { email: string },
    token: string,
    game: { id: string; slug: string },
  ) {
    this.#cluster = cluster
    this.#tally = tally
    this.#browser = browser
    this.#token = token
    this.#game = game
  }

  static async begin(cluster: Cluster, tally: Tally, name: string): Promise<Developer> {
    const browser = await signUp(cluster.portal, name)
    const token = await tokenOf(browser, cluster.portal, SCOPES)
    const { game } = await deployPage(cluster.portal, token, `Game of ${name}`, '<!doctype html><title>v0</title>')
    return new Developer(cluster, tally, browser, token, game)
  }

  async step(): Promise<void> {
    const number = ++this.#steps
    if (number % 40 === 7) return this.#revoke()
    if (number % 40 === 17) return this.#signIn()
    if (number % 40 === 27) return this.#deploy(`v${number}`)
    if (number % 40 === 37) return this.#create()
    if (number % 8 === 1) return this.#generate()
    if (number % 8 === 5) return this.#describe(`At step ${number}.`)
    if (number % 2 === 0) return this.#play()
    await this.#call('GET', `/api/cli/whoami`)
  }

  /** Looks up all that was acknowledged. */
  async verify(): Promise<void> {
    await this.#play()
    const { body } = await this.#call('GET', `/api/games/${this.#game.id}`)
    this.#expect(body.description === this.done.description, `description ${body.description}`)
    for (const id of this.done.games) {
      const { status } = await this.#call('GET', `/api/games/${id}`)
      this.#expect(status === 200, `game ${id}: ${status}`)
    }
  }

  async #play(): Promise<void> {
    const title = async () => {
      const { body } = await this.#patient('GET', `${this.#cluster.origin(this.#game.slug)}/`)
      return /<title>(\w+)/.exec(String(body))?.[1]
    }
    await this.#soon(async () => (await title()) === this.done.title, `page ${this.done.title}`)
  }

  async #deploy(title: string): Promise<void> {
    const call: Call = async (method, url, options) => {
      const answer = await this.#patient(method, url, options)
      this.#expect(answer.status < 300, `${method} ${url}: ${answer.status}`)
      return answer
    }
    const html = `<!doctype html><title>${title}</title>`
    await deployPage(this.#cluster.portal, this.#token, this.#game.id, html, call)
    this.done.title = title
  }

  async #describe(description: string): Promise<void> {
    const { status } = await this.#call('PATCH', `/api/games/${this.#game.id}`, { description })
    this.#expect(status === 200, `PATCH: ${status}`)
    this.done.description = description
  }

  async #create(): Promise<void> {
    const game = { title: 'Another', description: 'Made under way.' }
    const { status, body } = await this.#call('POST', '/api/games', game, randomUUID())
    this.#expect(status === 201, `a game: ${status}`)
    this.done.games.push(body.id)
  }

  async #generate(): Promise<void> {
    const { status, body } = await this.#call('POST', '/api/ai/generate', { type: 'text', prompt: 'Go.' }, randomUUID())
    this.#expect(status === 200, `a generation: ${status} ${JSON.stringify(body)}`)
    this.done.generations.add(body.id)
  }

  async #signIn(): Promise<void> {
    const { portal } = this.#cluster
    const headers = { origin: portal }
    const account = { email: this.#browser.email, password: PASSWORD }
    const { status } = await this.#patient('POST', `${portal}/api/auth/sign-in`, { headers, body: account })
    this.#expect(status === 200, `sign-in: ${status}`)
  }

  /** A token that is revoked, and tried afterwards. */
  async #revoke(): Promise<void> {
    const { portal } = this.#cluster
    const headers = { origin: portal, cookie: this.#browser.cookies(portal) }
    const made = await this.#patient('POST', `${portal}/api/tokens`, {
      headers,
      body: { label: 'short', scopes: ['games:read'] },
    })
    this.#expect(made.status === 201, `a token: ${made.status}`)
    const bearer = { authorization: `Bearer ${made.body.token}` }
    const whoami = async () => (await this.#patient('GET', `${portal}/api/cli/whoami`, { headers: bearer })).status
    this.#expect((await whoami()) === 200, 'a new token')
    const { status } = await this.#patient('DELETE', `${portal}/api/tokens/${made.body.id}`, { headers })
    this.#expect([204, 404].includes(status), `revocation: ${status}`)
    await this.#soon(async () => (await whoami()) === 401, 'a revoked token')
  }

  #call(method: string, path: string, body?: object, key?: string): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${this.#token}`, ...(key ? { 'idempotency-key': key } : {}) }
    return this.#patient(method, this.#cluster.portal + path, { headers, ...(body ? { body } : {}) })
  }

  /** A request as a good client makes it: what failed is sent again, after a while. */
  async #patient(...[method, url, options]: Parameters<Call>): Promise<HttpAnswer> {
    const giveUpAt = Date.now() + PATIENCE_MS
    for (let wait = 100, failed = 0; ; wait = Math.min(wait * 2, 2000)) {
      this.#tally.requests++
      const answer = await ask(method, url, options).catch((error: NodeJS.ErrnoException) => error)
      const trouble = answer instanceof Error ? answer.code : answer.status >= 500 ? answer.status : null
      // "The first request with this key is still under way": not an error, but no answer yet.
      const early = !(answer instanceof Error) && answer.status === 409 && answer.headers['retry-after'] !== undefined
      if (!(answer instanceof Error) && trouble === null && !early) return answer
      const what = `${trouble} ${method} ${new URL(url).pathname}`
      if (trouble !== null) this.#tally.errors.push(what)
      if (trouble !== null && ++failed > 1) this.#tally.again.push(what)
      if (Date.now() > giveUpAt) {
        this.#expect(false, `${method} ${url}: ${trouble ?? 'still under way'} to the end`)
        throw new Error(`${method} ${url} got no answer.`)
      }
      await sleep(wait)
    }
  }

  async #soon(holds: () => Promise<boolean>, what: string): Promise<void> {
    const deadline = Date.now() + STALE_MS
    for (;;) {
      // An answer may be stale that was asked for before, however late it comes.
      const isLast = Date.now() > deadline
      if (await holds()) return
      if (isLast) return this.#expect(false, what)
      await sleep(200)
    }
  }

  #expect(holds: boolean, what: string): void {
    if (!holds) this.#tally.failures.push(what)
  }
}

/** Developers who work side by side until they are told to stop. */
export class Load {
  readonly tally: Tally = { requests: 0, errors: [], again: [], failures: [] }
  readonly #people: Developer[]
  #working: Promise<void>[] = []
  #over = false

  private constructor(people: Developer[]) {
    this.#people = people
  }

  static async begin(cluster: Cluster, count: number): Promise<Load> {
    const people: Developer[] = []
    const load = new Load(people)
    for (let number = 1; number <= count; number++)
      people.push(await Developer.begin(cluster, load.tally, `Dev${number}`))
    load.#working = people.map(async (person) => {
      while (!load.#over) await person.step()
    })
    return load
  }

  /** Resolves after so many further requests. */
  async forRequests(count: number): Promise<void> {
    const until = this.tally.requests + count
    while (this.tally.requests < until) await sleep(100)
  }

  /** Ends the work, whatever is begun being finished, and looks everything up. @returns ids of all generations */
  async end(): Promise<Set<string>> {
    this.#over = true
    await Promise.all(this.#working)
    for (const person of this.#people) await person.verify()
    return new Set(this.#people.flatMap(({ done }) => [...done.generations]))
  }
}
