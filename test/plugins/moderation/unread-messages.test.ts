// What a player has not seen yet: every page shows the number, until the page of messages was opened.
import t from 'tap'
import { plugins } from '../../../plugins/index.ts'
import { sweepReports } from '../../../plugins/moderation/scheduled-tasks.ts'
import { type PlayerClient, startPlatform } from '../../kit/platform.ts'

/** The longest that a session is cached, in ms. */
const SOON = 6000

t.test('messages and invitations are counted on every page until they are seen', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock } = platform
  const owner = await platform.signUp()
  const player = await platform.signUp({ name: 'Ben' })
  const game = await platform.game(owner)
  const menu = async (client: PlayerClient, path = '/catalog') => {
    clock.advance(SOON)
    return /<details class="menu">[\s\S]*?<\/details>/.exec((await client.get(path)).text)?.[0] ?? ''
  }
  t.match(await menu(player), /href="\/settings\/messages"[^>]*>Messages<\/a>/)
  t.notMatch(await menu(player), /menu-unread/)

  const invite = (playerId: string) => owner.post(`/api/games/${game.id}/invitations`, { role: 'maker', playerId })
  t.equal((await invite(player.id)).status, 201)
  t.match(await menu(player), /new messages: 1</)
  await app.db.transaction((em) => app.identity.tell(em, player.id, 'Hello', 'You.'))
  const shown = await menu(player)
  t.match(shown, /new messages: 2</)
  t.match(
    shown,
    /href="\/settings\/messages"[^>]*>Messages <span class="menu-unread">2<span class="visually-hidden"> new/,
  )
  t.notMatch(await menu(owner), /menu-unread/, 'for the player alone')

  await player.request('HEAD', '/settings/messages')
  await player.get('/settings/messages', { headers: { 'sec-purpose': 'prefetch' } })
  t.match(await menu(player), /new messages: 2</, 'nobody has seen them by that')
  t.notMatch(await menu(player, '/settings/messages'), /menu-unread/, 'the page that shows them')
  t.notMatch(await menu(player), /menu-unread/, 'and each one after it')
  await app.db.transaction((em) => app.identity.tell(em, player.id, 'Again', 'You.'))
  clock.advance(181 * 86_400_000)
  await sweepReports(app, 180, new AbortController().signal)
  t.same(await app.db.query('select id from player_news'), [], 'it goes with the message')
})

t.test('an account that ends takes it along', async (t) => {
  const platform = await startPlatform(t)
  const { app } = platform
  const player = await platform.signUp()
  await app.db.transaction((em) => app.identity.tell(em, player.id, 'Hello', 'You.'))
  t.equal((await app.db.query('select id from player_news')).length, 1)
  await app.identity.deletion.remove(player.id)
  t.same(await app.db.query('select id from player_news'), [])
})

t.test('without the page of messages nothing is counted', async (t) => {
  const without = plugins.filter(({ name }) => name !== 'moderation')
  const platform = await startPlatform(t, { only: [], plugins: without })
  const [owner, player] = [await platform.signUp(), await platform.signUp()]
  const game = await platform.game(owner)
  const invited = await owner.post(`/api/games/${game.id}/invitations`, { role: 'maker', playerId: player.id })
  t.equal(invited.status, 201)
  t.same(await platform.app.db.query('select id from player_news'), [])
  t.notMatch((await player.get('/catalog')).text, /settings\/messages/)
})
