// AI for the pages of hosted games: over a real socket, by the session of the game, within what the player allows.
import t, { type Test } from 'tap'
import { aiConfig, openai, startAiServer } from '../../kit/ai-server.ts'
import { exportOf } from '../../kit/exports.ts'
import { inFull } from '../../kit/extent.ts'
import { Client, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { until } from '../../kit/until.ts'
import { deploy } from '../game-edge/kit.ts'
import { signInTo } from '../multiplayer/kit.ts'

const TEXT = { type: 'text', prompt: 'Greet the player.' }

async function inhabit(t: Test, more: Record<string, unknown> = {}) {
  const server = await startAiServer(t)
  const config = { ai: aiConfig(server), auth: { guests: true }, ...more }
  const platform = await startPlatform(t, { config, listen: true })
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner, { title: 'Oracle' })
  const host = platform.gameHost(game.slug)
  const player = await platform.signUp({ name: 'Bo' })
  await signInTo(player, host)
  const { port } = platform.app.server.address() as { port: number }
  /** Asks as a page of the game does, over the network. */
  const ask = async (
    client: PlayerClient | null,
    body: object = TEXT,
    { headers = {}, at = host, signal }: { headers?: Record<string, string>; at?: string; signal?: AbortSignal } = {},
  ) => {
    const cookie = client ? [...client.cookiesOf(at)].map(([name, value]) => `${name}=${value}`).join('; ') : ''
    return overSocket(port, at, body, { origin: `http://${at}`, cookie, ...headers }, signal)
  }
  const allow = (client: Client, creditsPerDay: number | string) =>
    client.submit(`/settings/ai/${game.id}`, { creditsPerDay: String(creditsPerDay) })
  const balance = async () => (await platform.app.credits.balance(player.id)).available
  return { server, platform, owner, game, host, player, ask, allow, balance }
}

t.test(
  'a page of a game generates on credits of its player, after consent and within the limit of a day',
  async (t) => {
    const { server, platform, game, player, ask, allow, balance } = await inhabit(t)
    const allowUrl = `${platform.portal}/settings/ai/${game.id}`
    t.match(await ask(player), { status: 403, body: { error: { code: 'ai_not_allowed' }, allowUrl } })
    t.equal(server.requests.length, 0)
    const { status, text } = await player.get(new URL(allowUrl).pathname)
    t.equal(status, 200)
    for (const shown of ['Oracle', 'Bo', '100. The game does not see this number', 'value="20"']) t.match(text, shown)
    for (const wrong of ['0', '-1', '1.5', 'many', '100001', ''])
      t.match(await allow(player, wrong), { status: 400, text: /Enter a whole number from 1 to 100,000/ }, wrong)
    t.match(await allow(player, 12), { status: 303, headers: { location: `/settings/ai/${game.id}?done=allowed` } })

    server.answer = openai('Hello, Bo!', 1001)
    const answer = await ask(player)
    t.match(answer, { status: 200, body: { type: 'text', result: 'Hello, Bo!', finish: 'complete', creditsUsed: 2 } })
    t.notOk('balance' in answer.body, 'the balance is not for the game')
    const streamed = await ask(player, { ...TEXT, stream: true, maxOutputTokens: 1000 })
    t.match(streamed.text, /^data: {"delta":"Hello, "}\n\n[\s\S]*event: done\ndata: {.*"result":"Hello, Bo!"/)
    t.notMatch(streamed.text, /balance/)
    t.equal(await balance(), 97)
    const refused = await ask(player, { type: 'image', prompt: 'A door.' })
    t.match(refused, { status: 402, body: { error: { code: 'daily_limit_reached' }, limit: 12, used: 3, allowUrl } })
    t.equal(Date.parse(refused.body.resetsAt) % 86_400_000, 0)
    t.match(await player.get('/settings/ai'), { status: 200, text: /Oracle[\s\S]*Revoke AI in Oracle/ })
    t.equal((await ask(player, { ...TEXT, gameId: game.id })).status, 400)

    t.comment('a failure gives back what it reserved, and a new day begins at zero')
    server.answer = (_request, response) => void response.writeHead(400).end('{}')
    t.match(await ask(player, { ...TEXT, maxOutputTokens: 9000 }), { status: 502 })
    server.answer = openai('Hello.', 9000)
    t.match(await ask(player, { ...TEXT, maxOutputTokens: 9000 }), { status: 200, body: { creditsUsed: 9 } })
    t.match(await ask(player, { ...TEXT, maxOutputTokens: 1 }), { status: 402, body: { limit: 12, used: 12 } })
    platform.clock.advance(86_400_000)
    t.match(await ask(player, { ...TEXT, maxOutputTokens: 1 }), { status: 200 })

    t.comment('revoked')
    t.match(await player.submit(`/settings/ai/${game.id}/revoke`, {}), { status: 303 })
    t.match(await ask(player), { status: 403, body: { error: { code: 'ai_not_allowed' } } })
  },
)

/** Concurrent generations do not exceed the limit together, and who disconnects pays nothing. */
async function concurrently(t: Test, config: Record<string, unknown>) {
  const { server, player, ask, allow, balance, platform } = await inhabit(t, config)
  await allow(player, 10)
  server.answer = openai('Hi.', 2000)
  const one = { ...TEXT, maxOutputTokens: 4000 }
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask(player, one)))
  const done = answers.filter(({ status }) => status === 200).length
  t.ok(done >= 2 && done <= 4, `${done} of 8 fit into 10 credits with 4 reserved each`)
  t.ok(answers.every(({ status }) => status === 200 || status === 402))
  t.equal(await balance(), 100 - 2 * done)

  await allow(player, 30)
  server.answer = () => {}
  const aborted = new AbortController()
  const asked = server.requests.length
  const gone = ask(player, one, { signal: aborted.signal })
  await until(() => server.requests.length > asked)
  aborted.abort()
  await t.rejects(gone)
  const open = 'select id from ai_allowance_uses where expires_at is not null'
  await until(async () => (await platform.app.db.query(open)).length === 0)
  t.equal(await balance(), 100 - 2 * done)
}

t.test('concurrent generations stay within the limit, and who disconnects pays nothing', (t) => concurrently(t, {}))

inFull(t)?.test('the same on PostgreSQL', needsPostgres, async (t) => {
  const database = { driver: 'postgres', url: await (await startPostgres()).database() }
  await concurrently(t, { database, secret: 'x'.repeat(32) })
})

t.test('only pages of this very game may spend, for who is signed in to it and is no guest', async (t) => {
  const { server, platform, owner, game, host, player, ask, allow } = await inhabit(t)
  await allow(player, 20)
  const other = await platform.game(owner, { title: 'Other' })
  const there = platform.gameHost(other.slug)
  for (const origin of [platform.portal, `http://${there}`, 'null'])
    t.match(await ask(player, TEXT, { headers: { origin } }), { status: 403, body: { error: { code: 'forbidden' } } })
  t.match(await ask(player, TEXT, { headers: { 'service-worker': 'script' } }), { status: 403 })
  const stale = { headers: { 'service-player': owner.id } }
  t.match(await ask(player, TEXT, stale), { status: 409, body: { error: { code: 'other_player' } } })
  t.match(await ask(null), { status: 401, body: { error: { code: 'unauthorized' }, signIn: '/auth/service/start' } })
  await signInTo(player, there)
  t.match(await ask(player, TEXT, { at: there }), { status: 403, body: { error: { code: 'ai_not_allowed' } } })
  t.match(await ask(owner), { status: 401 }, 'the session of the portal is none of the game')

  const guest = new Client(platform.app) as PlayerClient
  await guest.post('/api/auth/guest', { name: 'Zoe' })
  await signInTo(guest, host)
  t.match(await ask(guest), { status: 403, body: { error: { code: 'account_required' }, accountUrl: String } })
  t.match(await guest.get(`/settings/ai/${game.id}`), { status: 200, text: /A guest can’t spend credits/ })
  t.match(await allow(guest, 5), { status: 403 })
  t.equal(server.requests.length, 0)

  await platform.app.games.suspensions.suspend(game.id, 'spam', { id: owner.id, role: 'admin' })
  t.match(await ask(player), { status: 451 })
})

t.test('a game learns nothing about the balance', async (t) => {
  const { platform, player, ask, allow } = await inhabit(t)
  const by = { kind: 'adjustment', description: 'Spent elsewhere', key: 'test/spent' } as const
  await platform.app.credits.balance(player.id)
  await platform.app.credits.grant(player.id, -99, by)
  t.match(await ask(player), { status: 403, body: { error: { code: 'ai_not_allowed' } } }, 'before it is allowed')
  await allow(player, 50)
  for (const stream of [false, true]) {
    const { status, body } = await ask(player, { ...TEXT, stream })
    t.equal(status, 402)
    t.same(Object.keys(body).sort(), ['creditsUrl', 'error'])
    t.notMatch(body.error.message, /\d/)
  }
})

t.test('a preview spends what its game may, and all of it ends with the game and the account', async (t) => {
  const { server, platform, owner, game, host, player, ask, allow } = await inhabit(t)
  const program = await platform.program(owner)
  await deploy(platform, program, game.id, { 'index.html': 'hello' })
  const [{ previewUrl }] = (await program.get(`/api/games/${game.id}/deploys`)).body.deploys
  const preview = new URL(previewUrl).host
  await signInTo(owner, preview)
  await allow(owner, 7)
  server.answer = openai('Hi.', 10)
  t.match(await ask(owner, TEXT, { at: preview }), { status: 200 })
  t.match(await ask(owner, TEXT, { at: preview, headers: { origin: `http://${host}` } }), { status: 403 })

  await allow(player, 9)
  await ask(player)
  t.match(await exportOf(platform.app, player.id), { aiAllowances: [{ gameId: game.id, creditsPerDay: 9, used: 1 }] })
  const rows = async (id: string) => {
    const tables = ['ai_allowances', 'ai_allowance_uses']
    const found = await Promise.all(
      tables.map((table) => platform.app.db.query(`select * from ${table} where player_id = ?`, [id])),
    )
    return found.map(({ length }) => length)
  }
  t.same(await rows(player.id), [1, 1])
  await platform.app.identity.deletion.remove(player.id)
  t.same(await rows(player.id), [0, 0])
  t.same(await rows(owner.id), [1, 1])
  await platform.app.db.transaction(async (em) => {
    for (const clear of platform.app.games.deletion.cleanups) await clear(em, game.id)
  })
  t.same(await rows(owner.id), [0, 0])
})

/** Sends a request over the network, with a Host and Origin that `fetch` would not let through. */
async function overSocket(
  port: number,
  host: string,
  body: object,
  headers: Record<string, string>,
  signal: AbortSignal | undefined,
) {
  const { request } = await import('node:http')
  return new Promise<{ status: number; text: string; body: ReturnType<typeof JSON.parse> }>((resolve, reject) => {
    const sent = request(
      {
        port,
        host: '127.0.0.1',
        path: '/__service/ai',
        method: 'POST',
        headers: { host, 'content-type': 'application/json', ...headers },
        signal,
        agent: false,
      },
      async (response) => {
        let text = ''
        for await (const chunk of response.setEncoding('utf8')) text += chunk
        const isJson = String(response.headers['content-type']).includes('json')
        resolve({ status: response.statusCode ?? 0, text, body: isJson ? JSON.parse(text) : null })
      },
    )
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}
