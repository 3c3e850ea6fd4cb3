import { type ClientRequest, get, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { expectNoAxeViolations, openBrowser, openPage } from '../../kit/browser.ts'
import { Client, type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { build, deploy } from '../deploy/build.ts'
import { headersOf, RoomSocket, signInTo } from '../multiplayer/kit.ts'

const cookieOf = (player: PlayerClient) => [...player.cookiesOf()].map((pair) => pair.join('=')).join('; ')

/** Opens a stream over the network. `until` resolves with the parts that satisfy a test. */
async function listen(t: Test, platform: Platform, player: PlayerClient, path: string) {
  const leave = new AbortController()
  t.teardown(() => leave.abort())
  const answer = await fetch(platform.portal + path, { headers: { cookie: cookieOf(player) }, signal: leave.signal })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (holds: (parts: Record<string, string>) => boolean): Promise<Record<string, string>> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end === -1) {
        const { value, done } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error('The stream ended.')
        text += value
        continue
      }
      const data = /^event: parts\ndata: (.*)$/.exec(text.slice(0, end))?.[1]
      text = text.slice(end + 2)
      const parts = data ? JSON.parse(data) : {}
      if (data && holds(parts)) return parts
    }
  }
  return { answer, until }
}

async function withRoom(t: Test) {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Olga' })
  const game = await platform.game(owner, { title: 'Rooftop Relay', settings: { multiplayer: {} } })
  await deploy(platform, await platform.program(owner), game.id, build('one'))
  const host = platform.gameHost(game.slug)
  const ada = await platform.signUp({ name: 'Ada' })
  await signInTo(ada, host)
  const enter = async () => {
    const socket = new RoomSocket(t, platform, '/mp/rooms/lobby', headersOf(ada, host))
    await socket.enter()
    return socket
  }
  return { platform, owner, game, ada, enter }
}

t.test('the pages of a game follow its rooms without being reloaded', async (t) => {
  const { platform, owner, game, ada, enter } = await withRoom(t)
  let path = `/games/${game.slug}/rooms`
  t.match((await owner.get(path)).text, /Reload the page to look again/, 'without a script it says how to look again')

  const rooms = await listen(t, platform, owner, `/live${path}`)
  t.match(rooms.answer.headers.get('content-type'), 'text/event-stream')
  t.equal(rooms.answer.headers.get('cache-control'), 'no-store')
  t.match(await rooms.until(() => true), { rooms: /Nobody is in a room/ })
  const mine = await listen(t, platform, owner, '/live/games')
  t.match(await mine.until(() => true), { [`In rooms now of ${game.id}`]: /0/, 'all in rooms now': '0' })
  const one = await listen(t, platform, owner, `/live/games/${game.slug}`)
  await one.until(({ numbers = '' }) => numbers.includes('In rooms now'))

  const browser = await openBrowser(t)
  const watched = browser && (await openPage(browser, { baseURL: platform.portal }))
  const cookies = [...owner.cookiesOf()].map(([name, value]) => ({ name, value, url: platform.portal }))
  await watched?.context.addCookies(cookies)
  await watched?.page.goto(path)
  await watched?.page.getByText('Nobody is in a room').waitFor()

  const socket = await enter()
  // Counts of all nodes are written and read every few seconds of the clock.
  const seconds = setInterval(() => {
    platform.clock.advance(1000)
    void platform.app.games.count.flush()
  }, 250)
  t.teardown(() => clearInterval(seconds))
  t.match(await rooms.until(({ rooms = '' }) => rooms.includes('lobby')), { rooms: /1 of 100/ })
  const numbers = await mine.until((parts) => parts['all in rooms now'] === '1')
  t.match(numbers, { [`In rooms now of ${game.id}`]: /chip live.*1/ })
  await one.until(({ numbers = '' }) => /class="live">In rooms now<\/dt><dd>1</.test(numbers))
  if (watched) {
    await watched.page.getByRole('rowheader', { name: 'lobby' }).waitFor()
    await expectNoAxeViolations(t, watched.page, 'axe-core finds nothing in what has changed')
    // Unchanged elements are not replaced, so that the focus and selection of a user stay.
    const row = await watched.page.getByRole('rowheader', { name: 'lobby' }).elementHandle()
    const chatter = setInterval(() => socket.say({ t: 'send', type: 'move', data: 1 }), 100)
    t.teardown(() => clearInterval(chatter))
    await watched.page.waitForFunction(() => {
      const [, , rate] = document.querySelectorAll('[data-part=rooms] .stats dd')
      return rate !== undefined && rate.textContent !== '0.0'
    })
    clearInterval(chatter)
    t.ok(await row?.evaluate((element) => element.isConnected))
  }
  socket.say({ t: 'leave' })
  socket.socket.close()
  const stranger = await ada.get(`/live${path}`)
  t.equal(stranger.status, 404, "another's game is none")
  t.equal((await platform.stranger.get('/live/games')).status, 401)
  await t.test('so many at once, and no more until one is closed', async (t) => {
    const asked: ClientRequest[] = []
    const open = async () => {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
      const request = get(`${platform.portal}/live${path}`, { headers: { cookie: cookieOf(ada) }, agent: false })
      request.on('response', resolve)
      request.on('error', reject)
      t.teardown(() => request.destroy())
      const answer = await promise
      answer.on('error', () => {})
      if (answer.statusCode === 200) asked.push(request)
      return answer
    }
    const own = await platform.game(ada, { title: 'Of Ada' })
    path = `/games/${own.slug}/rooms`
    for (let count = 0; count < 20; count++) t.equal((await open()).statusCode, 200)
    const refused = await open()
    t.equal(refused.statusCode, 429)
    const text = Buffer.concat(await refused.toArray()).toString()
    t.match(JSON.parse(text), { error: { code: 'too_many_streams', message: /20/ } })
    const another = await listen(t, platform, owner, '/live/games')
    t.equal(another.answer.status, 200, 'another player has their own')
    asked[7]?.destroy()
    // The server detects the closed connection only after some time.
    await until(async () => (await open()).statusCode === 200)
    t.equal(asked.length, 21)
  })
  t.same(watched?.complaints ?? [], [])
})

t.test("a player's page shows what everybody may know, and nothing else", async (t) => {
  const { platform, owner, game } = await withRoom(t)
  const secret = await platform.game(owner, { title: 'Not for you', visibility: 'private' })
  const program = await platform.program(owner)
  await deploy(platform, program, secret.id, build('two'))
  await platform.game(owner, { title: 'Unfinished' })
  const path = `/players/${owner.id}`
  const seen = await platform.stranger.get(path)
  t.match(seen, { status: 200, text: /<h1><bdi>Olga<\/bdi><\/h1>/ })
  t.match(seen.text, 'Rooftop Relay')
  t.match(seen.text, '1 game')
  for (const hidden of ['Not for you', 'Unfinished', owner.account.email, 'Edit profile']) {
    t.notOk(seen.text.includes(hidden), `${hidden} is not there`)
  }
  t.match((await platform.stranger.get(`/games/${game.slug}`)).text, `href="${path}"`, 'the game leads there')
  t.match((await owner.get(path)).text, 'Edit profile')
  t.notMatch((await owner.get(path)).text, 'Not for you', 'one sees of oneself what others see')
  t.match(await owner.get('/players/me'), { status: 303, headers: { location: path } })

  const newcomer = await platform.signUp({ name: 'Noor' })
  t.match(
    (await platform.stranger.get(`/players/${newcomer.id}`)).text,
    /noindex/,
    'a name alone is for no search engine',
  )
  t.match((await newcomer.get(`/players/${newcomer.id}`)).text, 'Your games will appear here')

  await platform.app.identity.administration.setDisabled(owner.id, true)
  t.equal((await platform.stranger.get(path)).status, 404, 'whoever is shut out is not shown')
  t.notMatch((await platform.stranger.get(`/games/${game.slug}`)).text, `href="${path}"`)
  t.equal((await platform.stranger.get('/players/ply_00000000000000000000000000')).status, 404)
})

t.test('guests have no page', async (t) => {
  const platform = await startPlatform(t, { config: { auth: { guests: true } } })
  const guest = new Client(platform.app)
  const { status, body } = await guest.post('/api/auth/guest', { name: 'Passing by' })
  t.equal(status, 201)
  t.equal((await platform.stranger.get(`/players/${body.user.id}`)).status, 404)
  t.match(await guest.get('/players/me'), { status: 303, headers: { location: /^\/settings$/ } })
})
