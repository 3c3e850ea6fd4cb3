import t from 'tap'
import { type PlayerClient, startPlatform } from '../../kit/platform.ts'

t.test('cards, pages and lists for staff name all makers of a game', async (t) => {
  const platform = await startPlatform(t)
  const { app, stranger } = platform
  const owner = await platform.signUp({ name: 'Olu' })
  const people = []
  for (const name of ['Mae', 'Ben', 'Cleo']) people.push(await platform.signUp({ name }))
  const [mae, ben, cleo] = people as [PlayerClient, PlayerClient, PlayerClient]
  const admin = await platform.admin()
  const game = await platform.game(owner, { title: 'Duo', url: 'https://duo.example.org', tags: ['puzzle'] })
  await platform.game(owner, { title: 'Solo', url: 'https://solo.example.org', tags: ['puzzle'] })
  const { body } = await owner.post(`/api/games/${game.id}/invitations`, { role: 'maker' })
  const join = (player: PlayerClient) => player.submit(new URL(body.url).pathname, {})
  /** Returns the lines under the titles on the cards of a page. */
  const cards = async (path: string, by = stranger) => {
    const { text } = await by.get(path)
    const all = text.matchAll(
      /class="game-title"><bdi[^>]*>([^<]*)<\/bdi><\/span><span class="game-by">by (.*?)<\/span>/g,
    )
    return Object.fromEntries([...all].map(([, title, makers]) => [title, makers?.replace(/<\/?bdi>/g, '')]))
  }

  t.same(await cards('/catalog'), { Duo: 'Olu', Solo: 'Olu' })
  await join(mae)
  await join(ben)
  t.same(await cards('/catalog'), { Duo: 'Olu, Mae and Ben', Solo: 'Olu' })
  await join(cleo)
  const named = { Duo: 'Olu, Mae and 2 others', Solo: 'Olu' }
  t.same(await cards('/catalog?q=duo'), { Duo: named.Duo }, 'a search')
  t.same(await cards('/'), named)
  t.same(await cards(`/players/${owner.id}`), { Duo: named.Duo }, 'whose page it is need not be repeated')
  t.same(await cards(`/players/${cleo.id}`), { Duo: named.Duo })
  t.same(await cards('/games/solo'), { Duo: named.Duo }, 'more by the same')
  for (const path of ['/admin/games', `/admin/games/${game.id}/suspend`]) {
    const { text } = await admin.get(path)
    for (const player of [owner, mae, ben, cleo]) t.match(text, `/admin/players/${player.id}"`, path)
  }

  const { query } = app.db
  const counted = async (path: string) => {
    const captured = t.capture(app.db, 'query', query)
    await stranger.get(path)
    const count = captured().filter(({ args }) => /from players where id in/.test(String(args[0]))).length
    captured.restore()
    return count
  }
  t.same([await counted('/catalog'), await counted('/'), await counted(`/players/${mae.id}`)], [1, 1, 1])

  await app.db.execute('update players set disabled = ? where id = ?', [true, mae.id])
  await app.db.execute('update players set guest = ? where id = ?', [true, ben.id])
  t.same((await cards('/catalog')).Duo, 'Olu, Ben and Cleo', 'disabled players are not shown')
  const { text } = await stranger.get('/games/duo')
  t.match(
    text,
    `by <a href="/players/${owner.id}"><bdi>Olu</bdi></a>, <bdi>Ben</bdi> and <a href="/players/${cleo.id}">`,
  )
  t.match((await stranger.get('/api/catalog/games?q=duo')).body.games, [
    { makers: [{ name: 'Olu' }, { name: 'Ben' }, { name: 'Cleo' }] },
  ])
  t.notMatch((await stranger.get('/api/catalog/games?q=duo')).text, /hasPage|Mae/)
  t.notMatch((await stranger.get('/feed.xml')).text, /Mae/)
  t.match((await admin.get('/admin/games')).text, `/admin/players/${mae.id}"`, 'staff see them')
})
