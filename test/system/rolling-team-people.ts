// People each of whose requests goes to a chosen node of a cluster.
import type { Cluster } from '../kit/cluster.ts'
import { ask, type HttpAnswer } from '../kit/upload.ts'
import { Visitor } from '../kit/visitor.ts'
import { type Call, deployFiles, PASSWORD, signUp, tokenOf } from './cluster-players.ts'

/**
 * The public addresses, which lead nowhere: requests go to the nodes directly, as from a load balancer that terminates
 * TLS. On https all versions use the same names of cookies.
 */
const PORTAL = 'https://yard.test'
const DOMAIN = 'games.test'
/** The sections of the configuration for these addresses. */
export const ADDRESSES = { portal: { url: PORTAL }, games: { domain: DOMAIN } }

const SCOPES = ['games:read', 'games:write', 'deployments:write']

/** A player with a browser and an API token. */
export class Person {
  readonly name: string
  readonly id: string
  readonly #cluster: Cluster
  readonly #browser: Visitor
  readonly #token: string

  private constructor(cluster: Cluster, name: string, { id, browser, token }: Credentials) {
    this.#cluster = cluster
    this.name = name
    this.id = id
    this.#browser = browser
    this.#token = token
  }

  static async signUp(cluster: Cluster, name: string): Promise<Person> {
    const browser = new Visitor(undefined, cluster.nodes[0]?.port)
    await signUp(PORTAL, name, browser)
    return Person.#with(cluster, name, browser)
  }

  /** Makes the first administrator, by the link that a node has printed at its start. */
  static async setUp(cluster: Cluster, name: string): Promise<Person> {
    const [first] = cluster.nodes
    const [, path] = new RegExp(`${PORTAL}(/setup/[\\w-]+)`).exec(first?.output() ?? '') ?? []
    const browser = new Visitor(undefined, first?.port)
    const account = { name, email: `${name.toLowerCase()}@yard.test`, password: PASSWORD }
    const { status } = await browser.submit(`${PORTAL}${path}`, account)
    if (status !== 303) throw new Error(`set-up: ${status}`)
    return Person.#with(cluster, name, browser)
  }

  static async #with(cluster: Cluster, name: string, browser: Visitor): Promise<Person> {
    const { body } = await browser.get(`${PORTAL}/api/auth/session`)
    const token = await tokenOf(browser, PORTAL, SCOPES)
    return new Person(cluster, name, { id: body.user.id, browser, token })
  }

  /** Returns the person with all requests sent to one node. */
  at(node: number): PersonAtNode {
    const port = this.#cluster.nodes[node]?.port as number
    return new PersonAtNode({ id: this.id, browser: this.#browser.at(port), token: this.#token, port })
  }
}

interface Credentials {
  id: string
  browser: Visitor
  token: string
}

class PersonAtNode {
  readonly #browser: Visitor
  readonly #token: string
  readonly #port: number

  constructor({ browser, token, port }: Credentials & { port: number }) {
    this.#browser = browser
    this.#token = token
    this.#port = port
  }

  /** Opens a page of the portal. */
  page = (path: string): Promise<HttpAnswer> => patiently(() => this.#browser.get(PORTAL + path))
  submit = (path: string, fields: Record<string, string> = {}): Promise<HttpAnswer> =>
    patiently(() => this.#browser.submit(PORTAL + path, fields))

  /** Sends a request to the API with the token. */
  api(method: string, path: string, body?: object): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${this.#token}` }
    return patiently(() => ask(method, PORTAL + path, { headers, port: this.#port, ...(body ? { body } : {}) }))
  }

  /** Signs in to a game. */
  enter = (slug: string): Promise<HttpAnswer> =>
    patiently(() => this.#browser.follow(`${originOf(slug)}/auth/service/start?returnTo=/`))

  /** Sends a request from a page of a game. */
  inGame(slug: string, method: string, path: string, body?: string | object): Promise<HttpAnswer> {
    const headers: Record<string, string> = typeof body === 'string' ? { 'content-type': 'text/plain' } : {}
    return patiently(() => this.#browser.request(method, originOf(slug) + path, body, headers))
  }

  /** Deploys a page with a title. @returns the status of the last answer, and the deploy's id */
  async deploy(gameId: string, title: string): Promise<{ status: number; deployId: string }> {
    const done = { status: 0, deployId: '' }
    const call: Call = async (method, url, options) => {
      // The storage has an address of its own.
      const port = url.startsWith(PORTAL) ? this.#port : undefined
      const answer = await patiently(() => ask(method, url, { ...options, port }))
      done.status = answer.status
      done.deployId = answer.body.deployId ?? done.deployId
      if (answer.status >= 300) throw new Refused()
      return answer
    }
    const files = new Map([['index.html', Buffer.from(`<!doctype html><title>${title}</title>`)]])
    await deployFiles(PORTAL, this.#token, gameId, files, { call }).catch((error) => {
      if (!(error instanceof Refused)) throw error
    })
    return done
  }
}

/**
 * Sends a request, and once more after an error of the server. What is an error, the logs of the nodes tell: each of the
 * database connections that an older node has open during a migration fails once, see `WIDENED`.
 */
async function patiently(send: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  const answer = await send()
  return answer.status === 500 ? send() : answer
}

const originOf = (slug: string) => `https://${slug}.${DOMAIN}`

class Refused extends Error {}
