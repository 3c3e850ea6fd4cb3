import { createHash, randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { type AiServer, aiConfig, openai, startAiServer } from '../../kit/ai-server.ts'
import { hasPrograms } from '../../kit/components.ts'
import { PASSWORD, type Platform, startPlatform } from '../../kit/platform.ts'
import { startStripe, stripeConfig } from '../../kit/stripe.ts'
import { until } from '../../kit/until.ts'
import { ask, type HttpAnswer } from '../../kit/upload.ts'
import { form } from '../../plugins/assets/kit.ts'
import { sheet } from '../../plugins/assets/models.ts'

/** One row's case. */
export type Case = (t: Test, world: World) => Promise<unknown>
/** Cases by row. */
export type Cases = Record<string, Case>

export interface Ask {
  token?: string | undefined
  cookie?: string | undefined
  headers?: Record<string, string>
  body?: object | string | Buffer
  form?: Record<string, string>
}

export const CALLBACK = 'https://relay.example/auth/callback'
export const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
export const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex')

/** The platform on a real socket, asked by raw HTTP and nothing else, and what the cases share. */
export class World {
  readonly platform: Platform
  readonly ai: AiServer
  readonly stripe: Awaited<ReturnType<typeof startStripe>>
  readonly portal: string
  readonly studio: string
  #made = new Map<string, Promise<unknown>>()
  #count = 0

  constructor(platform: Platform, ai: AiServer, stripe: World['stripe']) {
    this.platform = platform
    this.ai = ai
    this.stripe = stripe
    this.portal = platform.app.origins.portal
    this.studio = platform.app.origins.studio
  }

  static async start(t: Test): Promise<World> {
    const ai = await startAiServer(t, openai('Hello, player!'))
    const stripe = await startStripe(t)
    const config = { ai: aiConfig(ai), payments: stripeConfig(stripe.url), blender: { driver: 'subprocess' } }
    return new World(await startPlatform(t, { listen: true, config }), ai, stripe)
  }

  /** A request to the portal, or to the origin that the address names. */
  http(method: string, address: string, { token, cookie, headers = {}, body, form }: Ask = {}): Promise<HttpAnswer> {
    const url = new URL(address, this.portal)
    const sent: Record<string, string> = { ...headers }
    if (token) sent.authorization = `Bearer ${token}`
    // As a browser does: its cookies, and the origin of the page.
    if (cookie) Object.assign(sent, { cookie, origin: url.origin, ...headers })
    if (form) sent['content-type'] = 'application/x-www-form-urlencoded'
    const payload = form ? new URLSearchParams(form).toString() : body
    return ask(method, url.href, { headers: sent, ...(payload === undefined ? {} : { body: payload }) })
  }

  get = (address: string, options?: Ask) => this.http('GET', address, options)
  post = (address: string, options?: Ask) => this.http('POST', address, options)

  /** Made once for all cases. */
  once<Thing>(name: string, make: () => Promise<Thing>): Promise<Thing> {
    const made = this.#made.get(name) ?? make()
    this.#made.set(name, made)
    return made as Promise<Thing>
  }

  /** A new player in a browser. */
  async player(): Promise<{ id: string; cookie: string; email: string }> {
    const email = `spec${++this.#count}@example.org`
    const origin = this.portal
    const body = { name: 'Ada', email, password: PASSWORD }
    const answer = await this.post('/api/auth/sign-up', { body, headers: { origin } })
    if (answer.status !== 201) throw new Error(`sign-up: ${answer.status} ${JSON.stringify(answer.body)}`)
    return { id: answer.body.user.id, cookie: cookiesOf(answer), email }
  }

  /** The player that most cases are about, with a game. */
  owner = () => this.once('owner', () => this.player())

  async createToken(scopes: string[], fields: object = {}, owner?: { cookie: string }) {
    const { cookie } = owner ?? (await this.owner())
    const answer = await this.post('/api/tokens', {
      cookie,
      body: { label: 'spec', scopes, expiresInDays: 30, ...fields },
    })
    if (answer.status !== 201) throw new Error(`token: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** The owner's token with these scopes. */
  token = (...scopes: string[]): Promise<string> =>
    this.once(`token ${scopes}`, async () => (await this.createToken(scopes)).token)

  /** As the CLI logs in: RFC 8628, approved in the owner's browser. */
  async cliToken(): Promise<string> {
    const { cookie } = await this.owner()
    const begun = await this.post('/api/oauth/device_authorization', {
      form: { client_id: 'gameyard-cli', label: 'laptop' },
    })
    if (begun.status !== 200) throw new Error(`device: ${begun.status} ${JSON.stringify(begun.body)}`)
    const { user_code, device_code } = begun.body
    await this.post('/oauth/device', { cookie, form: { user_code, decision: 'allow' } })
    const answer = await this.post('/api/oauth/token', {
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: 'gameyard-cli',
        device_code,
      },
    })
    if (answer.status !== 200) throw new Error(`device token: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body.access_token
  }

  async createGame(fields: object = {}) {
    const body = { title: `Pong ${++this.#count}`, description: 'Two paddles.', tags: ['co-op'], ...fields }
    const answer = await this.post('/api/games', { token: await this.token('games:write'), body })
    if (answer.status !== 201) throw new Error(`game: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** A game with a live build. */
  game = () =>
    this.once('game', async () => {
      const game = await this.createGame()
      const { deployId } = await this.upload(game.id, '<!doctype html><html><body>Pong</body></html>')
      const token = await this.token('deployments:write')
      const live = await this.post(`/api/deploy/${deployId}/finalize`, { token })
      return { ...game, live }
    })

  /** A deploy whose file is there, not yet finalized. */
  async upload(gameId: string, html: string) {
    const files = [{ path: 'index.html', size: Buffer.byteLength(html), sha256: sha256(html) }]
    const token = await this.token('deployments:write')
    const begun = await this.post('/api/deploy', { token, body: { gameId, files } })
    for (const { uploadUrl, method, headers } of begun.body.uploads ?? []) {
      const stored = await this.http(method, uploadUrl, { headers, body: Buffer.from(html) })
      if (stored.status >= 300) throw new Error(`upload: ${stored.status} ${JSON.stringify(stored.body)}`)
    }
    return { ...begun.body, begun }
  }

  /** An OAuth application of a game that lives elsewhere. */
  application = () =>
    this.once('application', async () => {
      const body = { name: 'Relay', homepageUrl: 'https://relay.example', redirectUris: [CALLBACK] }
      const answer = await this.post('/api/oauth/apps', { token: await this.token('oauth:write'), body })
      return answer.body as { id: string; clientId: string; clientSecret: string }
    })

  /** A code that the owner gave, as the portal sends it back. */
  async code(scope = 'profile email') {
    const { clientId } = await this.application()
    const { cookie } = await this.owner()
    const state = randomBytes(16).toString('hex')
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: CALLBACK,
      scope,
      state,
    })
    const asked = await this.get(`/oauth/authorize?${query}`, { cookie })
    // Once allowed it is not asked again.
    const answer =
      asked.status === 200
        ? await this.post('/oauth/consent', { cookie, form: { request: String(query), decision: 'allow' } })
        : asked
    const back = new URL(String(answer.headers.location))
    return { asked, answer, back, state, code: back.searchParams.get('code') as string }
  }

  /** The token endpoint, asked for a code. */
  async redeem(code: string, changes: Record<string, string> = {}) {
    const { clientId, clientSecret } = await this.application()
    return this.post('/api/oauth/token', {
      form: {
        grant_type: 'authorization_code',
        client_id: clientId,
        client_secret: clientSecret,
        code,
        redirect_uri: CALLBACK,
        ...changes,
      },
    })
  }

  tokens = () => this.once('tokens', async () => this.redeem((await this.code()).code))

  /** The cookie of the owner's session with the game. */
  gameSession = () => this.once('game session', async () => (await this.signInToGame()).cookie)

  async signInToGame(returnTo = '/') {
    const { url } = await this.game()
    const { cookie } = await this.owner()
    const start = await this.get(`${url}/auth/service/start?returnTo=${encodeURIComponent(returnTo)}`)
    const authorized = await this.get(String(start.headers.location), { headers: { cookie } })
    const back = String(authorized.headers.location)
    const callback = await this.get(back, { headers: { cookie: cookiesOf(start) } })
    return { start, authorized, back, callback, cookie: cookiesOf(callback) }
  }

  /** An uploaded model. */
  async createAsset(fields: Record<string, string>, file?: Buffer, name = 'sheet.glb') {
    const { payload, headers } = form(file ?? (await sheet(4)), fields, name)
    const token = await this.token('assets:write')
    const answer = await this.post(`${this.studio}/api/assets`, { token, body: payload, headers })
    if (answer.status !== 201) throw new Error(`asset: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  publicAsset = () => this.once('public', () => this.createAsset({ title: 'Spec sheet', visibility: 'public' }))
  privateAsset = () => this.once('private', () => this.createAsset({ title: 'Secret sheet', visibility: 'private' }))

  /** A completed job of the owner's on a real Blender; null, marked as skipped, where there is none. */
  async completedJob(t: Test) {
    if (!hasPrograms(t, 'blender', 'bwrap')) return null
    return this.once('job', async () => {
      const token = await this.token('assets:generate', 'assets:read', 'assets:write')
      const body = { name: 'A chest', template: 'prop', parameters: { kind: 'chest' } }
      const queued = await this.post(`${this.studio}/api/blender/v1/jobs`, { token, body })
      if (queued.status !== 202) throw new Error(`job: ${queued.status} ${JSON.stringify(queued.body)}`)
      const done = await until(async () => {
        const { body } = await this.get(`${this.studio}/api/blender/v1/jobs/${queued.body.id}`, { token })
        return ['completed', 'failed', 'cancelled'].includes(body.status) ? body : null
      }, 180)
      return { token, queued: queued.body, done }
    })
  }
}

/** `Cookie` of what an answer set. */
export const cookiesOf = ({ headers }: HttpAnswer): string =>
  [headers['set-cookie'] ?? []]
    .flat()
    .filter((line) => !/Max-Age=0\b/.test(line))
    .map((line) => line.split(';')[0])
    .join('; ')
