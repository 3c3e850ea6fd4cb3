import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']

t.test('the catalog lists public games, finds them and pages through them', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, stranger } = platform
  const player = await platform.signUp()
  const make = async (title: string, fields = {}) => {
    await app.games.create(player.id, { title, description: '', ...fields })
    platform.clock.advance(1)
  }
  await make('Rooftop Relay', { tags: ['running', 'co-op'] })
  await make('Pokémon Relay', { tags: ['running'] })
  await make('東京 レース')
  await make('Hidden Relay', { visibility: 'private', tags: ['running'] })
  const titles = async (query: string) =>
    (await stranger.get(`/api/catalog/games${query}`)).body.games.map((game: { title: string }) => game.title)

  t.same(await titles(''), ['東京 レース', 'Pokémon Relay', 'Rooftop Relay'])
  const cases: [string, string[]][] = [
    ['?q=relay', ['Pokémon Relay', 'Rooftop Relay']],
    ['?q=REL', ['Pokémon Relay', 'Rooftop Relay']],
    ['?q=pokemon', ['Pokémon Relay']],
    ['?q=rel+roof', ['Rooftop Relay']],
    ['?q=%E6%9D%B1', ['東京 レース']],
    ['?q=elay', []],
    ['?q=%25', []],
    ['?q=%20', ['東京 レース', 'Pokémon Relay', 'Rooftop Relay']],
    ['?q=%23running', []],
    ['?tag=running', ['Pokémon Relay', 'Rooftop Relay']],
    ['?tag=running&q=roof', ['Rooftop Relay']],
    ['?tag=none', []],
  ]
  for (const [query, expected] of cases) t.same(await titles(query), expected, query)

  for (const sort of ['new', 'popular']) {
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await stranger.get(`/api/catalog/games?sort=${sort}&limit=2${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.games.map((game: { title: string }) => game.title))
      cursor = body.nextCursor
    }
    t.same(seen, ['東京 レース', 'Pokémon Relay', 'Rooftop Relay'], `${sort}, page by page`)
  }
  t.equal((await stranger.get('/api/catalog/games?sort=popular&cursor=nonsense')).status, 400)
  t.equal((await stranger.get('/api/catalog/games?sort=best')).status, 400)
  t.equal((await stranger.get('/api/catalog/games?limit=101')).status, 400)
})

t.test('tags are in any script, and in one form', async (t) => {
  const platform = await startPlatform(t, { only })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const fields = { title: 'Tower', description: '', tags: ['パズル', 'RPG', 'Łódź'], url: 'https://tower.example' }
  const made = await program.post('/api/games', fields)
  t.match(made, { status: 201, body: { tags: ['パズル', 'rpg', 'lodz'] } })
  const found = async (tag: string) =>
    (await platform.stranger.get(`/api/catalog/games?tag=${encodeURIComponent(tag)}`)).body.games.length
  for (const tag of ['パズル', 'ﾊﾟｽﾞﾙ', 'rpg', 'RPG', 'lodz', 'Łódź']) t.equal(await found(tag), 1, tag)
  t.equal(await found('パス'), 0)
  const path = `/games/${made.body.slug}`
  t.match(await platform.stranger.get(path), { text: `href="/catalog?tag=${encodeURIComponent('パズル')}"` })
  t.match(await platform.stranger.get(`/catalog?tag=${encodeURIComponent('パズル')}`), { status: 200, text: /Tower/ })
  const form = { title: 'Tower', description: '', visibility: 'public' }
  t.match(await owner.submit(`${path}/settings`, { ...form, tags: 'ガーデン、RPG' }), { status: 303 })
  t.same((await program.get(`/api/games/${made.body.id}`)).body.tags, ['ガーデン', 'rpg'])
  t.match(await owner.submit(`${path}/settings`, { ...form, tags: 'a&b' }), {
    status: 400,
    text: /letters, digits and hyphens/,
  })
  t.match(await program.patch(`/api/games/${made.body.id}`, { tags: ['fine', '½'] }), {
    status: 400,
    body: { error: { details: [{ path: 'tags.1' }] } },
  })
})

t.test('a search below a tag says so, and leads to the search in all tags', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, stranger } = platform
  const player = await platform.signUp()
  await app.games.create(player.id, {
    title: 'Paper Boat',
    description: '',
    tags: ['calm'],
    url: 'https://boat.example',
  })
  const { text } = await stranger.get('/catalog?q=paper&tag=music&input=keyboard')
  t.match(text, /<h1>Games that match “paper”, tagged music<\/h1>/)
  t.match(text, /No game matches[\s\S]*href="\/catalog\?q=paper&amp;input=keyboard">Search in all tags</)
  t.match((await stranger.get('/catalog?q=paper')).text, /<h1>Games that match “paper”<\/h1>[\s\S]*Paper Boat/)
  t.notMatch((await stranger.get('/catalog?q=boot')).text, /in all tags/)
})

t.test('a new title is what a game is found by', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const game = await platform.game(player, { title: 'Before' })
  await platform.app.games.update(player.id, game.id, { title: 'After' })
  t.equal((await platform.stranger.get('/api/catalog/games?q=before')).body.games.length, 0)
  t.equal((await platform.stranger.get('/api/catalog/games?q=after')).body.games.length, 1)
})
