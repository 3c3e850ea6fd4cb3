// New game → From a starter: the chooser, and the game that it makes.
import t from 'tap'
import { STARTERS } from '../../../plugins/starters/catalog.ts'
import { filesOf } from '../../../plugins/starters/files.ts'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'

const PATH = '/games/new/starter'

t.test('the chooser shows every starter, and the page of a new game leads to it', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  t.match((await player.get('/games/new')).text, 'href="/games/new/starter"')
  t.match((await player.get('/games')).text, 'href="/games/new/starter"')
  const { text, status } = await player.get(PATH)
  t.equal(status, 200)
  t.notMatch(text, 'choice-list', 'no frame around the pictures')
  for (const { name, title } of STARTERS) {
    t.match(text, `value="${name}"`)
    t.match(text, `<span>${title}</span>`)
    const [picture = ''] = new RegExp(`/_assets/starter-${name}\\.\\w{8}\\.jpg`).exec(text) ?? []
    const { status, headers } = await player.get(picture)
    t.match({ status, type: headers['content-type'] }, { status: 200, type: 'image/jpeg' }, picture)
  }
  t.match(await platform.stranger.get(PATH), { status: 303 }, 'it needs an account')
})

t.test('the form makes a game that runs, by an ordinary deploy', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  for (const starter of STARTERS.slice(0, amount(2, STARTERS.length))) {
    const title = `My ${starter.name}`
    const made = await player.submit(PATH, { starter: starter.name, title })
    t.match(made, { status: 303, headers: { location: `/games/my-${starter.name}` } })
    const { body: game } = await player.get(`/api/games/my-${starter.name}`)
    t.match(game, { title, description: starter.summary, visibility: 'public', tags: starter.tags })
    const host = platform.gameHost(game.slug)
    for (const { path, bytes } of await filesOf(starter, title)) {
      // The page has the sign-in button too, and a room script is never served.
      if (path === 'index.html' || path === starter.room) continue
      t.equal((await platform.stranger.get(`/${path}`, { host })).text, Buffer.from(bytes).toString(), path)
    }
    t.match((await platform.stranger.get('/', { host })).text, `<title>${title}</title>`)
    const { body } = await player.get(`/api/games/${game.id}/deploys`)
    t.match(body.deploys, [{ state: 'live', message: `From the starter ${starter.name}` }])
    for (const { id } of starter.boards ?? []) {
      const { status } = await platform.stranger.get(`/api/games/${game.slug}/boards/${id}/scores`)
      t.equal(status, 200, `the board ${id}`)
    }
  }
})

t.test('without a title a game has that of its starter, and each its own address', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const first = await player.submit(PATH, { starter: 'page', title: '  ' })
  const second = await player.submit(PATH, { starter: 'page', title: '' })
  t.equal(first.headers.location, '/games/four-notes')
  t.match(second.headers.location, /^\/games\/four-notes-/)
})

t.test('bad input is refused, and past a quota no game is left', async (t) => {
  const platform = await startPlatform(t, { config: { limits: { gamesPerPlayer: 2, storageBytesPerPlayer: 5000 } } })
  const player = await platform.signUp()
  t.equal((await player.submit(PATH, { starter: 'nothing', title: 'x' })).status, 400)
  t.equal((await player.submit(PATH, { starter: 'page', title: 'x'.repeat(121) })).status, 400)
  const tooMuch = await player.submit(PATH, { starter: 'canvas', title: 'Too large' })
  t.equal(tooMuch.status, 403)
  t.match(tooMuch.text, 'value="Too large"', 'what was typed stays')
  t.same((await player.get('/api/games')).body.games, [])
})
