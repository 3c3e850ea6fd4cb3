// Two nodes that share a PostgreSQL, an S3 and a Redis, behind nginx, which distributes requests in turn: the steps of
// each test run on both nodes.

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { aiConfig, openai, startAiServer } from '../kit/ai-server.ts'
import { type Cluster, clusterMissing, startCluster } from '../kit/cluster.ts'
import { hasPrograms } from '../kit/components.ts'
import { openEngine } from '../kit/engines/engine.ts'
import { until } from '../kit/until.ts'
import { ask } from '../kit/upload.ts'
import { Visitor } from '../kit/visitor.ts'
import { type Build, build, filesOf, tarOf } from '../plugins/deploy/build.ts'
import { assistants } from './cluster-assistants.ts'
import { deployPage, mustAsk, PASSWORD, signUp, tokenOf } from './cluster-players.ts'
import { playFirstGame } from './first-game-steps.ts'

t.test('scenarios on two nodes', { skip: clusterMissing }, async (t) => {
  const provider = await startAiServer(t, openai('Hello.', 1))
  const cluster = await startCluster(t, {
    config: {
      ai: aiConfig(provider),
      blender: { driver: 'subprocess', capacity: 1, threads: 1 },
      limits: { aiRequestsPerMinute: 10_000, requestsPerMinute: 10_000 },
    },
  })
  const scenario = (name: string, run: (t: Test, cluster: Cluster) => Promise<unknown>) =>
    t.test(name, async (t) => {
      cluster.shares()
      await run(t, cluster)
      const [one = 0, two = 0] = cluster.shares()
      t.ok(Math.min(one, two) > 0 && Math.abs(one - two) <= 0.2 * (one + two) + 2, `${one} and ${two} requests`)
    })
  await scenario('the first game', firstGame)
  await scenario('an application signs a player in', signIn)
  await scenario('what one node ends is over on the other', revocations)
  await scenario('what one node changes the other shows', changes)
  await scenario('a build arrives in bundles', bundles)
  await scenario('what one node suspends both refuse within a second', suspensions)
  await scenario('limits hold for all nodes together', limits)
  await scenario('players in one room, each on a node of their own', rooms)
  await scenario('credits', credits)
  await scenario('jobs', jobs)
  await scenario('a coding assistant', assistants)
  for (const node of cluster.nodes) t.equal(await node.stop(), 0, 'each stops when told to')
})

async function firstGame(t: Test, { portal, port, nodes }: Cluster) {
  const [one, two] = nodes
  t.equal(one?.setupLink, two?.setupLink, 'both print the same set-up link')
  const engine = await openEngine(t, 'chromium')
  if (engine) await playFirstGame(t, engine, { portal, port, setupLink: one?.setupLink ?? null })
}

/** The authorization code flow, each step on the node that the last one was not on. */
async function signIn(t: Test, { portal }: Cluster) {
  const ada = await signUp(portal, 'Ada')
  const token = await tokenOf(ada, portal, ['oauth:write'])
  const redirectUri = 'https://game.example/callback'
  const made = await ask('POST', `${portal}/api/oauth/apps`, {
    headers: { authorization: `Bearer ${token}` },
    body: { name: 'Relay', redirectUris: [redirectUri] },
  })
  const { clientId: client_id, clientSecret: client_secret } = made.body
  const obtainCode = async () => {
    const request = new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri: redirectUri,
      scope: 'profile offline_access',
      state: 'a state',
    }).toString()
    const first = await ada.get(`${portal}/oauth/authorize?${request}`)
    const answer =
      first.status === 303 ? first : await ada.submit(`${portal}/oauth/consent`, { request, decision: 'allow' })
    return new URL(String(answer.headers.location)).searchParams.get('code') as string
  }
  const stranger = new Visitor()
  const exchange = (code: string) =>
    stranger.submit(`${portal}/api/oauth/token`, {
      grant_type: 'authorization_code',
      client_id,
      client_secret,
      code,
      redirect_uri: redirectUri,
    })
  const userinfo = (bearer: string) =>
    ask('GET', `${portal}/api/oauth/userinfo`, { headers: { authorization: `Bearer ${bearer}` } })

  const code = await obtainCode()
  const { status, body: tokens } = await exchange(code)
  t.equal(status, 200)
  for (let asked = 0; asked < 4; asked++) t.match(await userinfo(tokens.access_token), { body: { name: 'Ada' } })

  const codes = await Promise.all([obtainCode(), obtainCode()])
  for (const each of codes) {
    const answers = await Promise.all(Array.from({ length: 6 }, () => exchange(each)))
    t.ok(answers.filter((answer) => answer.status === 200).length <= 1, 'a code is good once, on all nodes together')
  }
  t.match(await exchange(code), { status: 400, body: { error: 'invalid_grant' } }, 'a code that comes back is refused')
  for (let asked = 0; asked < 4; asked++)
    t.equal((await userinfo(tokens.access_token)).status, 401, 'and what it gave is revoked, on both')
}

async function revocations(t: Test, { portal, origin }: Cluster) {
  const ada = await signUp(portal, 'Ada')
  const scopes = ['games:read', 'games:write', 'deployments:write']
  const token = await tokenOf(ada, portal, scopes)
  const headers = { authorization: `Bearer ${token}` }
  const whoami = () => ask('GET', `${portal}/api/cli/whoami`, { headers })
  /** Asks often enough that both nodes have answered, and remember. */
  const all = async (question: () => Promise<number | boolean>) => [
    ...new Set([await question(), await question(), await question(), await question()]),
  ]
  t.same(await all(async () => (await whoami()).status), [200])
  const [{ id } = { id: '' }] = (await ada.get(`${portal}/api/tokens`)).body.tokens
  t.equal((await ada.delete(`${portal}/api/tokens/${id}`)).status, 204)
  t.same(await all(async () => (await whoami()).status), [401], 'a token')

  const again = await tokenOf(ada, portal, scopes)
  const { game } = await deployPage(portal, again, 'Revoked', '<!doctype html><title>one</title>')
  const player = await signUp(portal, 'Bob')
  const inGame = async () => (await player.get(`${origin(game.slug)}/auth/service/session`)).body.signedIn
  t.equal((await player.follow(`${origin(game.slug)}/auth/service/start?returnTo=/`)).status, 200)
  t.same(await all(inGame), [true])
  const elsewhere = new Visitor()
  const account = { email: player.email, password: PASSWORD }
  t.equal((await elsewhere.post(`${portal}/api/auth/sign-in`, account)).status, 200)
  const signedIn = (who: Visitor) => async () => (await who.get(`${portal}/api/auth/session`)).body.signedIn
  t.same(await all(signedIn(elsewhere)), [true])
  t.equal((await elsewhere.post(`${portal}/api/auth/sign-out`)).status, 204)
  t.same(await all(signedIn(elsewhere)), [false], 'a session')
  t.same(await all(signedIn(player)), [true], 'and no other')

  const password = { current: PASSWORD, password: 'another battery yard fence' }
  const changed = await player.submit(`${portal}/settings/password`, password)
  t.equal(changed.status, 303)
  t.same(await all(inGame), [false], 'sessions in games, with the password')
}

async function suspensions(t: Test, { portal, origin, database }: Cluster) {
  const ada = await signUp(portal, 'Ada')
  const token = await tokenOf(ada, portal, ['games:read', 'games:write', 'deployments:write'])
  const { game } = await deployPage(portal, token, 'Reported', '<!doctype html><title>one</title>')
  const moderator = await signUp(portal, 'Mo')
  const client = new pg.Client(database)
  await client.connect()
  await client.query('update players set moderator = true where email = $1', [moderator.email])
  await client.end()
  const signedIn = await moderator.post(`${portal}/api/auth/sign-in`, { email: moderator.email, password: PASSWORD })
  t.equal(signedIn.status, 200)
  const status = async () => (await ask('GET', `${origin(game.slug)}/`)).status
  const both = async () => [...new Set([await status(), await status(), await status(), await status()])]
  t.same(await both(), [200])
  const target = { kind: 'game', id: game.id }
  const reported = await signUp(portal, 'Rita').then((rita) =>
    rita.post(`${portal}/api/reports`, { target, category: 'spam', text: 'Spam.' }),
  )
  t.equal(reported.status, 201)
  const decided = await moderator.post(`${portal}/api/admin/reports/${game.id}`, {
    action: 'suspend',
    message: 'Spam.',
  })
  t.equal(decided.status, 201)
  const began = Date.now()
  let lastServed = began
  await until(async () => {
    for (let each = 0; each < 4; each++) {
      const sent = Date.now()
      if ((await status()) === 451) continue
      lastServed = sent
      return false
    }
    return true
  })
  t.ok(lastServed - began < 1000, `both refuse it; the last that was served was sent after ${lastServed - began} ms`)
  const undone = await moderator.post(`${portal}/api/admin/reports/undo`, { decisionId: decided.body.id })
  t.equal(undone.status, 200)
  await until(async () => (await both()).every((each) => each === 200))
}

async function changes(t: Test, { portal, origin }: Cluster) {
  const ada = await signUp(portal, 'Ada')
  const token = await tokenOf(ada, portal, ['games:read', 'games:write', 'deployments:write'])
  const headers = { authorization: `Bearer ${token}` }
  const { game } = await deployPage(portal, token, 'Changing', '<!doctype html><title>one</title>')
  const page = async () => {
    const { status, body } = await ask('GET', `${origin(game.slug)}/`)
    return status === 200 ? /<title>(\w+)/.exec(String(body))?.[1] : status
  }
  const both = async () => [...new Set([await page(), await page(), await page(), await page()])]
  t.same(await both(), ['one'])
  for (const title of ['two', 'three', 'four']) {
    await deployPage(portal, token, game.id, `<!doctype html><title>${title}</title>`)
    t.same(await both(), [title], 'a deploy')
  }
  const change = (fields: object) => ask('PATCH', `${portal}/api/games/${game.id}`, { headers, body: fields })
  t.equal((await change({ visibility: 'private' })).status, 200)
  t.same(await both(), [404], 'who may see a game')
  t.equal((await change({ visibility: 'public', slug: 'changed' })).status, 200)
  t.same(await both(), [302], 'its address')
}

/** Small files in archives, each part of which comes by the node that the last one did not come by, into the bucket. */
async function bundles(t: Test, { portal, origin }: Cluster) {
  const ada = await signUp(portal, 'Ada')
  const token = await tokenOf(ada, portal, ['games:read', 'games:write', 'deployments:write'])
  const headers = { authorization: `Bearer ${token}` }
  const { game } = await deployPage(portal, token, 'Bundled', '<!doctype html><title>one</title>')
  const files = build('bundled', 60)
  const announce = { headers, body: { gameId: game.id, files: filesOf(files) } }
  const { deployId, bundle } = (await mustAsk('POST', `${portal}/api/deploy`, announce)).body
  const send = (part: Build) => ask(bundle.method, bundle.url, { headers: bundle.headers, body: tarOf(part) })
  const missing = async () => (await mustAsk('GET', bundle.url)).body.missing.toSorted()
  const half = Object.entries(files).slice(0, 30)
  const rest = Object.fromEntries(Object.entries(files).slice(30))
  t.equal((await send(Object.fromEntries(half))).status, 204)
  const expected = filesOf(rest)
    .map(({ sha256 }) => sha256)
    .toSorted()
  t.same([await missing(), await missing()], [expected, expected], 'both nodes know what has arrived')
  t.same([(await send(rest)).status, (await send(rest)).status], [204, 204])
  t.same(await missing(), [])
  const finalized = await ask('POST', `${portal}/api/deploy/${deployId}/finalize`, { headers })
  t.equal(finalized.status, 200, JSON.stringify(finalized.body))
  for (const [path, text] of Object.entries(files)) {
    const read = async () => String((await ask('GET', `${origin(game.slug)}/${path}`)).body)
    for (const body of [await read(), await read()]) t.ok(body.includes(String(text)), path)
  }
}

async function limits(t: Test, { portal }: Cluster) {
  const { email } = await signUp(portal, 'Ada')
  const attempts = []
  for (let tries = 0; tries < 12; tries++)
    attempts.push((await new Visitor().post(`${portal}/api/auth/sign-in`, { email, password: 'not it at all' })).status)
  t.same(attempts, [...Array(10).fill(401), 429, 429])
  const docs = async () => (await ask('GET', `${portal}/docs`)).headers
  const reset = Number((await docs())['ratelimit-reset'])
  // The requests belong to one window.
  if (reset < 15) await sleep((reset + 1) * 1000)
  const left = async () => Number((await docs())['ratelimit-remaining'])
  const first = await left()
  t.same([await left(), await left(), await left()], [first - 1, first - 2, first - 3])
}

async function rooms(t: Test, { portal, origin, port }: Cluster) {
  const owner = await signUp(portal, 'Ada')
  const token = await tokenOf(owner, portal, ['games:read', 'games:write', 'deployments:write'])
  const { game } = await deployPage(portal, token, 'Rooms', '<!doctype html><title>rooms</title>')
  const site = origin(game.slug)
  const enter = async (name: string) => {
    const player = await signUp(portal, name)
    await player.follow(`${site}/auth/service/start?returnTo=/`)
    const headers = { host: new URL(site).host, origin: site, cookie: player.cookies(site) }
    const socket = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/lobby`, { headers })
    t.teardown(() => socket.terminate())
    // biome-ignore lint/suspicious/noExplicitAny: frames of any type
    const received: any[] = []
    socket.on('message', (data: Buffer) => received.push(JSON.parse(data.toString())))
    await once(socket, 'open')
    const next = (type: string) => until(async () => received.find((frame) => frame.t === type))
    return {
      welcome: await next('welcome'),
      next,
      received,
      say: (message: object) => socket.send(JSON.stringify(message)),
    }
  }
  const [bob, eve, joe] = [await enter('Bob'), await enter('Eve'), await enter('Joe')]
  t.equal(joe.welcome.players.length, 3)
  t.equal(new Set([bob, eve, joe].map(({ welcome }) => welcome.host)).size, 1, 'one host')
  for (const from of [bob, eve, joe])
    for (let number = 0; number < 20; number++) from.say({ t: 'send', to: 'all', type: 'n', data: number })
  const said = ({ received }: typeof bob) =>
    received.filter(({ t }) => t === 'msg').map(({ from, data }) => `${from} ${data}`)
  await until(async () => [bob, eve, joe].every((player) => said(player).length === 60))
  t.same(said(bob), said(eve), 'in one order')
  t.same(said(bob), said(joe))
  const { body } = await ask('GET', `${site}/mp/rooms`)
  t.match(body.rooms, [{ id: 'lobby', players: 3 }])
}

async function credits(t: Test, { portal }: Cluster) {
  const ada = await signUp(portal, 'Ada')
  const token = await tokenOf(ada, portal, ['ai:generate'])
  const headers = { authorization: `Bearer ${token}` }
  const generate = (key: string) =>
    ask('POST', `${portal}/api/ai/generate`, {
      headers: { ...headers, 'idempotency-key': key },
      body: { type: 'text', prompt: 'Greet.' },
    })
  const balance = async () => (await ask('GET', `${portal}/api/ai/credits`, { headers })).body.balance
  t.same(await Promise.all([balance(), balance(), balance(), balance()]), [100, 100, 100, 100], 'a welcome, once')

  const twins = await Promise.all([generate('twins'), generate('twins'), generate('twins')])
  t.same(
    [...new Set(twins.map(({ status }) => status))].filter((status) => status !== 409),
    [200],
  )
  const [first, second] = [await generate('twins'), await generate('twins')]
  t.equal(first.body.id, second.body.id, 'a key is good once, on whichever node')
  t.equal(await balance(), 99)

  const answers = await Promise.all(Array.from({ length: 130 }, (_, index) => generate(`many-${index}`)))
  const paid = answers.filter(({ status }) => status === 200).length
  t.same([...new Set(answers.map(({ status }) => status))].sort(), [200, 402])
  t.ok(paid <= 99, `${paid} of 99`)
  t.same([await balance(), await balance()], [99 - paid, 99 - paid], 'nobody spends what is not there')
}

async function jobs(t: Test, { portal, origin }: Cluster) {
  const ada = await signUp(portal, 'Ada')
  const all = ['games:read', 'games:write', 'deployments:write', 'assets:read', 'assets:generate']
  const token = await tokenOf(ada, portal, all)
  const page = `<!doctype html><title>long</title>${'<p>The same again.</p>'.repeat(2000)}`
  const { game } = await deployPage(portal, token, 'Compressed', page)
  const coding = async () => {
    const { headers } = await ask('GET', `${origin(game.slug)}/`, { headers: { 'accept-encoding': 'br' } })
    return headers['content-encoding'] === 'br'
  }
  await until(coding)
  t.same([await coding(), await coding(), await coding()], [true, true, true], 'what one compressed both send')

  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const headers = { authorization: `Bearer ${token}` }
  const work = `${portal}/api/blender/v1/jobs`
  const body = { name: 'A chest', template: 'prop', parameters: { kind: 'chest', size: 2 } }
  const queued = await ask('POST', work, { headers, body })
  t.equal(queued.status, 202)
  // Two streams, one from each node: both end with the job.
  const streams = await Promise.all([1, 2].map(() => ask('GET', `${work}/${queued.body.id}/events`, { headers })))
  for (const stream of streams) t.match(String(stream.body), /"status":"completed"/)
  for (let asked = 0; asked < 2; asked++) {
    const model = await ask('GET', `${work}/${queued.body.id}/artifacts/model.glb`, { headers })
    t.match([model.status, String(model.body).slice(0, 4)], [200, 'glTF'])
  }
}
