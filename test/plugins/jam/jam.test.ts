import t, { type Test } from 'tap'
import { newId, timeOfId } from '../../../core/ids.ts'
import { type Client, type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'

/** Starts a jam with two developers, a game each, and an organizer. */
async function begin(t: Test) {
  const platform = await startPlatform(t, { config: { auth: { guests: true } } })
  const organiser = await platform.admin()
  const begun = await organiser.post('/api/jam', { title: 'Yard jam', theme: 'Fences', categories: ['Fun', 'Looks'] })
  t.match(begun, {
    status: 201,
    body: {
      id: /^jam_/,
      theme: 'Fences',
      categories: [
        { id: 'fun', name: 'Fun' },
        { id: 'looks', name: 'Looks' },
      ],
      submissionsOpen: true,
      votingOpen: false,
      revealed: 0,
    },
  })
  const [ada, ben] = [await platform.signUp({ name: 'Ada' }), await platform.signUp({ name: 'Ben' })]
  const pong = await ready(platform, ada, 'Pong')
  const snake = await ready(platform, ben, 'Snake')
  return { platform, organiser, ada, ben, pong, snake }
}

/** Creates a playable game on an external host. */
const ready = (platform: Platform, maker: PlayerClient, title: string) =>
  platform.game(maker, { title, url: `https://${title.toLowerCase()}.example.org` })

async function guest(platform: Platform, name: string): Promise<Client> {
  const client = new (platform.stranger.constructor as typeof Client)(platform.app)
  const { status } = await client.post('/api/auth/guest', { name })
  if (status !== 201) throw new Error(`The guest was answered with ${status}.`)
  return client
}

const code = (answer: { status: number; body: { error?: { code: string } } }) => [
  answer.status,
  answer.body.error?.code,
]

t.test('makers submit games of their own that can be played, while submissions are open', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  t.equal((await ada.post('/api/jam/entries', { gameId: pong.id })).status, 204)
  t.equal((await ada.post('/api/jam/entries', { gameId: pong.slug })).status, 204, 'twice is once')
  t.strictSame(code(await ada.post('/api/jam/entries', { gameId: snake.id })), [404, 'not_found'], "not another's")
  const empty = await platform.game(ada, { title: 'Empty' })
  t.strictSame(code(await ada.post('/api/jam/entries', { gameId: empty.id })), [409, 'not_playable'])
  const program = await platform.program(ben)
  t.equal((await program.post('/api/jam/entries', { gameId: snake.id })).status, 204, 'a program may too')

  const { body } = await platform.stranger.get('/api/jam')
  t.match(body, {
    title: 'Yard jam',
    voters: 0,
    entries: [{ title: 'Snake', by: 'Ben', players: 0 }, { title: 'Pong' }],
  })
  t.equal(body.entries.length, 2)
  t.notOk('votes' in body, 'whoever is not signed in has no votes')

  t.equal((await organiser.patch('/api/jam', { submissionsOpen: false })).status, 200)
  t.strictSame(code(await ada.delete(`/api/jam/entries/${pong.id}`)), [409, 'submissions_closed'])
  t.strictSame(code(await ben.delete(`/api/jam/entries/${pong.id}`)), [404, 'not_found'])
  t.equal((await organiser.delete(`/api/jam/entries/${pong.id}`)).status, 204, 'the organiser may always')
  t.strictSame(code(await ada.post('/api/jam/entries', { gameId: pong.id })), [409, 'submissions_closed'])
})

t.test('the announced end of submissions marks later games as late, until the vote', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  const end = new Date(platform.clock.now().getTime() + 7_200_000).toISOString()
  t.notMatch((await ada.get('/jam')).text, /left to submit/)
  t.match(await organiser.patch('/api/jam', { deadline: end }), { status: 200, body: { deadline: end } })
  t.match((await platform.stranger.get('/api/jam')).body, { deadline: end })
  for (const path of ['/jam', '/jam/results'])
    t.match((await ada.get(path)).text, /data-left="7200000">2 h 0 min<.*left to submit/s, path)
  await ada.post('/api/jam/entries', { gameId: pong.id })
  platform.clock.advance(7_200_001)
  for (const path of ['/jam', '/jam/results']) t.match((await ada.get(path)).text, /Time is up\./, path)
  t.equal((await ben.post('/api/jam/entries', { gameId: snake.id })).status, 204, 'nothing closes by itself')
  t.match((await organiser.get('/jam')).text, /Submitted.*>Snake<(?:(?!<tr).)*>late<.*>Pong<(?:(?!>late<).)*$/s)
  t.notMatch((await ben.get('/jam')).text, />late</)

  t.match((await organiser.patch('/api/jam', { votingOpen: true })).body, { submissionsOpen: false })
  t.strictSame(code(await ben.post('/api/jam/entries', { gameId: snake.id })), [409, 'submissions_closed'])
  t.match((await organiser.patch('/api/jam', { submissionsOpen: true })).body, { submissionsOpen: true }, 'if wanted')
  t.match((await organiser.patch('/api/jam', { deadline: null, votingOpen: false })).body, { deadline: null })
  t.match((await organiser.patch('/api/jam', { votingOpen: true })).body, { submissionsOpen: true })
  for (const deadline of ['tomorrow', '2026-12-31T23:59:60Z', '0001-01-01T00:00:00Z'])
    t.strictSame(code(await organiser.patch('/api/jam', { deadline })), [400, 'invalid_request'], deadline)
})

t.test(
  'the form of the settings takes the end of submissions in UTC, and keeps it where it has no such field',
  async (t) => {
    const { platform, organiser } = await begin(t)
    const settings = { title: 'Yard jam', theme: '', categories: 'Fun' }
    const save = (deadline: Record<string, string>) => organiser.submit('/jam/settings', { ...settings, ...deadline })
    const stored = async () => (await platform.stranger.get('/api/jam')).body.deadline
    await save({ deadline: '2026-11-23T18:30' })
    t.equal(await stored(), '2026-11-23T18:30:00.000Z')
    t.match((await organiser.get('/jam')).text, 'value="2026-11-23T18:30"')
    await save({})
    t.equal(await stored(), '2026-11-23T18:30:00.000Z')
    t.match(await save({ deadline: '2026-99-99T99:99' }), { status: 400, text: /Enter a day and a time/ })
    await save({ deadline: '' })
    t.equal(await stored(), null)
  },
)

t.test('only an administrator organises', async (t) => {
  const { ada, platform } = await begin(t)
  t.strictSame(code(await ada.post('/api/jam', { title: 'Mine' })), [403, 'forbidden'])
  t.strictSame(code(await ada.patch('/api/jam', { votingOpen: true })), [403, 'forbidden'])
  t.equal((await platform.stranger.patch('/api/jam', { votingOpen: true })).status, 401)
  t.equal((await ada.submit('/jam/switch', { what: 'voting', to: 'open' })).status, 403)
})

t.test('a player has one vote a category, guests too, and none for a game of their own', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await ben.post('/api/jam/entries', { gameId: snake.id })
  t.strictSame(code(await ada.put('/api/jam/votes/fun', { gameId: snake.id })), [409, 'voting_closed'])
  await organiser.patch('/api/jam', { votingOpen: true })

  t.match(await ada.put('/api/jam/votes/fun', { gameId: snake.id }), { status: 200, body: { fun: snake.id } })
  t.strictSame(code(await ada.put('/api/jam/votes/fun', { gameId: pong.id })), [403, 'own_game'])
  t.equal((await ada.put('/api/jam/votes/sound', { gameId: snake.id })).status, 404, 'a category that is none')
  const other = await ready(platform, ben, 'Other')
  t.equal((await ada.put('/api/jam/votes/fun', { gameId: other.id })).status, 404, 'a game that does not take part')

  const visitor = await guest(platform, 'Gus')
  const burst = await Promise.all(
    Array.from({ length: 10 }, (_, turn) =>
      visitor.put('/api/jam/votes/fun', { gameId: turn % 2 ? pong.id : snake.id }),
    ),
  )
  t.strictSame([...new Set(burst.map(({ status }) => status))], [200])
  await visitor.put('/api/jam/votes/fun', { gameId: pong.id })
  await visitor.put('/api/jam/votes/looks', { gameId: snake.id })
  t.match((await visitor.get('/api/jam')).body, { voters: 2, votes: { fun: pong.id, looks: snake.id } })
  t.match((await visitor.delete('/api/jam/votes/looks')).body, { fun: pong.id })
  t.match(await organiser.patch('/api/jam', { categories: ['Sound'] }), {
    body: { error: { code: 'categories_fixed' } },
  })

  const rows = await platform.app.db.query<{ votes: number }>('select count(*) as votes from jam_votes')
  t.equal(Number(rows[0]?.votes), 2, 'however often and at once somebody votes, they have one vote')
  t.match((await visitor.get('/settings/export')).body, { jamVotes: [{ categoryId: 'fun', gameId: pong.id }] })
})

t.test('nobody learns a result before it is revealed, step by step', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await ben.post('/api/jam/entries', { gameId: snake.id })
  await organiser.patch('/api/jam', { votingOpen: true, submissionsOpen: false })
  for (const name of ['Gus', 'Gia']) {
    await (await guest(platform, name)).put('/api/jam/votes/fun', { gameId: pong.id })
  }
  await ada.put('/api/jam/votes/fun', { gameId: snake.id })

  const hidden = { revealed: 0, voters: 3, categories: [{ places: [] }, { places: [] }] }
  t.match((await organiser.get('/api/jam/results')).body, hidden, 'nor does the organiser')
  t.strictSame(code(await organiser.patch('/api/jam', { revealed: 1 })), [409, 'still_voting'])
  await organiser.patch('/api/jam', { votingOpen: false })
  t.match((await platform.stranger.get('/api/jam/results')).body, { ...hidden, steps: 3 })

  await organiser.patch('/api/jam', { revealed: 1 })
  const first = (await platform.stranger.get('/api/jam/results')).body.categories[0]
  t.match(first, { complete: false, places: [{ rank: 2, votes: 1, games: [{ title: 'Snake', by: 'Ben' }] }] })
  t.equal(first.places.length, 1)
  t.notMatch((await platform.stranger.get('/jam/results')).text, /Pong/, 'the page says no more')
  t.strictSame(code(await organiser.patch('/api/jam', { votingOpen: true })), [409, 'results_shown'])

  t.match((await organiser.patch('/api/jam', { revealed: 99 })).body, { revealed: 3 }, 'no more than there are')
  const all = (await platform.stranger.get('/api/jam/results')).body
  t.match(all.categories, [
    { places: [{ rank: 1, games: [{ title: 'Pong' }] }, { rank: 2 }] },
    { places: [], complete: true },
  ])
})

t.test('votes go with their voter, and with the game', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await ben.post('/api/jam/entries', { gameId: snake.id })
  await organiser.patch('/api/jam', { votingOpen: true })
  await ada.put('/api/jam/votes/fun', { gameId: snake.id })
  await ben.put('/api/jam/votes/fun', { gameId: pong.id })
  await platform.app.identity.deletion.remove(ada.id)
  t.match((await ben.get('/api/jam')).body, { voters: 1, entries: [{ title: 'Snake' }] }, 'her game is gone with her')
  await organiser.delete(`/api/jam/entries/${snake.id}`)
  t.strictSame((await ben.get('/api/jam')).body.entries, [])
})

t.test('a vote for a game whose team its voter has joined meanwhile does not count', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  const cleo = await platform.signUp({ name: 'Cleo' })
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await ben.post('/api/jam/entries', { gameId: snake.id })
  await organiser.patch('/api/jam', { votingOpen: true })
  for (const voter of [ben, cleo]) await voter.put('/api/jam/votes/fun', { gameId: pong.id })
  await cleo.put('/api/jam/votes/looks', { gameId: snake.id })
  const { url } = (await ada.post(`/api/games/${pong.id}/invitations`, { role: 'maker' })).body
  t.equal((await ben.submit(new URL(url).pathname, {})).status, 303)
  await organiser.patch('/api/jam', { votingOpen: false })
  await organiser.patch('/api/jam', { revealed: 9 })
  const { categories } = (await cleo.get('/api/jam/results')).body
  t.match(
    categories.map(({ places }: { places: { votes: number; games: { title: string }[] }[] }) => places),
    [[{ votes: 1, games: [{ title: 'Pong' }] }], [{ votes: 1, games: [{ title: 'Snake' }] }]],
  )
})

t.test('a result stays when accounts of voters end after the voting, without their ids', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  const { app, stranger } = platform
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await ben.post('/api/jam/entries', { gameId: snake.id })
  await organiser.patch('/api/jam', { votingOpen: true })
  const [gus, gia] = [await guest(platform, 'Gus'), await guest(platform, 'Gia')]
  for (const voter of [gus, gia]) {
    await voter.put('/api/jam/votes/fun', { gameId: pong.id })
    await voter.put('/api/jam/votes/looks', { gameId: snake.id })
  }
  await organiser.patch('/api/jam', { votingOpen: false, submissionsOpen: false })
  await organiser.patch('/api/jam', { revealed: 9 })
  const shown = (await stranger.get('/api/jam/results')).body
  t.match(shown, { voters: 2, categories: [{ places: [{ votes: 2 }] }, { places: [{ votes: 2 }] }] })
  const voters = () => app.db.query<{ voter_id: string }>('select distinct voter_id from jam_votes')
  const [{ voter_id: first } = { voter_id: '' }, { voter_id: second } = { voter_id: '' }] = await voters()
  await app.identity.deletion.remove(first)
  t.strictSame((await stranger.get('/api/jam/results')).body, shown)
  await organiser.post('/api/jam', { title: 'Next' })
  await app.identity.deletion.remove(second)
  const kept = (await voters()).map((row) => row.voter_id)
  t.equal(kept.length, 2, 'votes of a former jam stay too')
  t.notOk(kept.includes(first) || kept.includes(second))
})

t.test('the number of revealed steps is never above that of all steps', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await ben.post('/api/jam/entries', { gameId: snake.id })
  await organiser.patch('/api/jam', { votingOpen: true })
  for (const name of ['Gus', 'Gia']) await (await guest(platform, name)).put('/api/jam/votes/fun', { gameId: pong.id })
  await ada.put('/api/jam/votes/fun', { gameId: snake.id })
  await organiser.patch('/api/jam', { votingOpen: false })
  await organiser.patch('/api/jam', { revealed: 3 })
  await organiser.delete(`/api/jam/entries/${snake.id}`)
  t.match((await platform.stranger.get('/api/jam/results')).body, { revealed: 2, steps: 2 })
})

t.test(
  'a maker withdraws no game that people vote or have voted on; the organiser may, after a question',
  async (t) => {
    const { organiser, ada, ben, pong, snake } = await begin(t)
    await ada.post('/api/jam/entries', { gameId: pong.id })
    await ben.post('/api/jam/entries', { gameId: snake.id })
    const withdraw = /<summary[^>]*aria-label="Withdraw Pong"/
    t.match((await ada.get('/jam')).text, withdraw, 'a confirmation')
    const fixed = [409, 'entries_fixed']
    const isRefused = async (when: string) => {
      t.strictSame(code(await ada.delete(`/api/jam/entries/${pong.id}`)), fixed, when)
      t.notMatch((await ada.get('/jam')).text, withdraw, when)
      t.match((await ada.get('/jam')).text, /Ask the organiser/, when)
    }
    await organiser.patch('/api/jam', { votingOpen: true })
    await isRefused('while people vote')
    const { location } = (await ada.submit('/jam/entries/withdraw', { gameId: pong.id })).headers
    t.match((await ada.get(String(location))).text, /notice error.*Ask the organiser to take yours out/s)
    await ada.put('/api/jam/votes/fun', { gameId: snake.id })
    await organiser.patch('/api/jam', { votingOpen: false })
    await isRefused('before the reveal')
    await organiser.patch('/api/jam', { revealed: 1 })
    await isRefused('after the reveal')
    t.match((await organiser.get('/jam')).text, /aria-label="Withdraw Pong".*1 player voted in this jam/s)
    t.match(await organiser.submit('/jam/entries/withdraw', { gameId: pong.id }), {
      headers: { location: '/jam?done=withdrawn' },
    })
  },
)

t.test(
  'makers always see the state of their games, and a submission that is late leads back to the page',
  async (t) => {
    const { platform, organiser, ada, ben, pong, snake } = await begin(t)
    await ada.post('/api/jam/entries', { gameId: pong.id })
    t.match((await ada.get('/jam')).text, /Your games.*Pong.*Takes part/s)
    await platform.app.games.update(ada.id, pong.id, { visibility: 'private' })
    t.match((await ada.get('/jam')).text, /Your games.*Pong.*Takes part, but is not shown: it is private/s)
    await organiser.patch('/api/jam', { submissionsOpen: false })
    t.match((await ada.get('/jam')).text, /Your games.*Pong.*not shown.*Submissions are closed/s)
    t.match((await ben.get('/jam')).text, /Your games.*Submissions are closed\. Not in the jam: Snake/s)
    const late = await ben.submit('/jam/entries', { gameId: snake.id })
    t.match(late, { status: 303, headers: { location: '/jam?refused=submissions_closed' } })
    t.match((await ben.get(String(late.headers.location))).text, /notice error.*Submissions are closed by now/s)
    t.notMatch((await ben.get('/jam?refused=constructor')).text, /notice error/)
  },
)

t.test('a jam that began while the clock was ahead does not stand in the way of the next', async (t) => {
  const { platform, organiser } = await begin(t)
  const { app } = platform
  const ahead = newId('jam', new Date(app.clock.now().getTime() + 365 * 86_400_000))
  await app.db.query('update jams set id = ?', [ahead])
  t.match((await organiser.get('/api/jam')).body, { id: ahead, title: 'Yard jam' })
  for (const title of ['Second', 'Third']) {
    const { createdAt } = (await organiser.post('/api/jam', { title })).body
    t.ok(createdAt < timeOfId(ahead).toISOString(), 'its time is that of the clock')
    t.match((await organiser.get('/api/jam')).body, { title })
  }
})

t.test('the pages do the same without a script', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  t.match(await ada.submit('/jam/entries', { gameId: pong.id }), { headers: { location: /^\/jam\?done=submitted$/ } })
  await ben.submit('/jam/entries', { gameId: snake.id })
  t.match((await organiser.submit('/jam/switch', { what: 'voting', to: 'open' })).headers.location, /done=voting-open/)
  const page = await ada.get('/jam')
  t.match(page.text, /<option[^>]*>Snake \(by Ben\)/)
  t.notMatch(page.text, /<option[^>]*>Pong \(by/, "one's own game is not offered")
  t.match(await ada.submit('/jam/votes', { fun: snake.id, looks: '' }), {
    headers: { location: /^\/jam\?done=voted$/ },
  })
  t.match((await ada.get('/jam')).text, new RegExp(`value="${snake.id}" selected`))
  await organiser.submit('/jam/switch', { what: 'voting', to: 'closed' })
  const late = await ada.submit('/jam/votes', { fun: '' })
  t.match((await ada.get(String(late.headers.location))).text, /notice error.*your last votes count/s)
  t.equal((await organiser.submit('/jam/results', { revealed: '1' })).headers.location, '/jam/results')
  t.match((await platform.stranger.get('/jam/results')).text, /Snake/)
  t.notMatch((await platform.stranger.get('/jam')).text, /Organise/)
})

t.test('before the first jam the page says so, and an administrator begins one there', async (t) => {
  const platform = await startPlatform(t)
  t.match((await platform.stranger.get('/jam')).text, /No jam yet/)
  t.equal((await platform.stranger.get('/api/jam')).status, 404)
  const organiser = await platform.admin()
  t.match((await organiser.get('/jam')).text, /Begin the jam/)
  t.equal((await organiser.submit('/jam', { title: 'First', theme: '', categories: 'Fun\nLooks' })).status, 303)
  t.match((await platform.stranger.get('/api/jam')).body, {
    title: 'First',
    categories: [{ id: 'fun' }, { id: 'looks' }],
  })
})

t.test('the page shows a leaderboard of each game that has one', async (t) => {
  const { platform, ada, ben, pong, snake } = await begin(t)
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await ben.post('/api/jam/entries', { gameId: snake.id })
  t.notMatch((await platform.stranger.get('/jam')).text, /Leaderboards/)
  const { scores } = platform.app
  for (const title of ['Rallies', 'Second']) await scores.boards.put(pong.id, title.toLowerCase(), { title })
  await scores.submit({ gameId: pong.id, boardId: 'rallies', playerId: ben.id, score: 1234, writer: 'players' })
  const page = (await platform.stranger.get('/jam')).text
  t.match(page, /Leaderboards.*Pong: Rallies.*Ben.*1,234/s)
  t.match(page, '/games/pong/boards/rallies')
  t.notMatch(page, /Pong: Second|Snake:/, 'the first board of a game')
  t.match((await ben.get('/jam')).text, /Rallies.*Ben.*you/s)
  await platform.app.games.suspensions.suspend(pong.id, 'because')
  t.notMatch((await platform.stranger.get('/jam')).text, /Rallies/)
})

t.test('nobody votes for a game that is suspended, private or deleted since it was submitted', async (t) => {
  const { platform, ada, ben, pong } = await begin(t)
  const { app } = platform
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await app.jams.change({ votingOpen: true })
  const [{ id: category }] = (await platform.stranger.get('/api/jam')).body.categories
  const vote = async () => (await ben.put(`/api/jam/votes/${category}`, { gameId: pong.id })).status
  await app.games.suspensions.suspend(pong.id, 'because')
  t.equal(await vote(), 404)
  await app.games.suspensions.lift(pong.id)
  await app.games.update(ada.id, pong.id, { visibility: 'private' })
  t.equal(await vote(), 404)
  await app.games.update(ada.id, pong.id, { visibility: 'public' })
  t.equal(await vote(), 200)
})

t.test('the revealed results of former jams stay, and nothing else of them', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  const { stranger } = platform
  t.notMatch((await stranger.get('/jam')).text, '/jam/past')
  t.match((await stranger.get('/jam/past')).text, /No former jams/)
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await ben.post('/api/jam/entries', { gameId: snake.id })
  const { id } = (await organiser.patch('/api/jam', { votingOpen: true })).body
  for (const category of ['fun', 'looks']) {
    await ada.put(`/api/jam/votes/${category}`, { gameId: snake.id })
    await ben.put(`/api/jam/votes/${category}`, { gameId: pong.id })
  }
  await ada.put('/api/jam/votes/looks', { gameId: snake.id })
  await organiser.patch('/api/jam', { votingOpen: false })
  await organiser.patch('/api/jam', { revealed: 1 })
  await organiser.post('/api/jam', { title: 'Second jam' })
  t.match((await stranger.get('/jam')).text, 'href="/jam/past"')
  const list = (await stranger.get('/jam/past')).text
  t.match(list, new RegExp(`href="/jam/past/${id}">Yard jam</a>.*Fences.*>2<`, 's'))
  t.notMatch(list, /Second jam/)
  const page = (await stranger.get(`/jam/past/${id}`)).text
  t.match(page, /2 players voted.*<h2>Fun.*Pong.*Snake/s)
  t.notMatch(page, /<h2>Looks/, 'what was not revealed')
  await platform.app.games.suspensions.suspend(pong.id, 'because')
  t.notMatch((await stranger.get(`/jam/past/${id}`)).text, /Pong/)
  t.equal((await stranger.get('/jam/past/jam_none')).status, 404)
  t.match((await stranger.get('/jam/results')).text, /Second jam/)
})

t.test('a vote that comes too late says what is gone, and what to do', async (t) => {
  const { platform, organiser, ada, ben, pong, snake } = await begin(t)
  await ada.post('/api/jam/entries', { gameId: pong.id })
  await ben.post('/api/jam/entries', { gameId: snake.id })
  const { id } = (await organiser.patch('/api/jam', { votingOpen: true })).body
  const voter = await guest(platform, 'Gus')
  t.match((await voter.get('/jam')).text, `name="_jam" value="${id}"`)
  const refusal = async (fields: Record<string, string>, from: Client = voter, path = '/jam/votes') => {
    const { status, headers } = await from.submit(path, fields)
    t.equal(status, 303)
    return (await from.get(String(headers.location))).text
  }
  await organiser.delete(`/api/jam/entries/${snake.id}`)
  const isGone = /notice error.*That game is no longer in the jam.*Reload the page/s
  t.match(await refusal({ _jam: id, fun: snake.id }), isGone, 'withdrawn')
  t.match(await refusal({ gameId: snake.id }, organiser, '/jam/entries/withdraw'), isGone, 'withdrawn twice')
  await platform.app.games.remove(ada.id, pong.id)
  t.match(await refusal({ _jam: id, fun: pong.id }), isGone, 'deleted')
  t.match(await refusal({ _jam: id, sound: '' }), /notice error.*The categories have changed/s)
  await organiser.post('/api/jam', { title: 'Next', categories: ['Fun'] })
  await organiser.patch('/api/jam', { votingOpen: true })
  t.match(await refusal({ _jam: id, fun: '' }), /notice error.*That jam has ended/s)
})
