// The pages on which players see, download, delete and restore their saves.
import t from 'tap'
import { startWithGame } from './kit.ts'

t.test('a player sees all saves, downloads, deletes and restores them', async (t) => {
  const { ada, bob, game, owner, platform } = await startWithGame(t)
  const { player } = ada
  t.match((await player.get('/settings/saves')).text, /No game has saved anything yet/)
  for (const level of [1, 2]) await ada.put('progress', `{"level":${level}}`, { 'content-type': 'application/json' })
  await ada.put('page', '<script>alert(1)</script>', { 'content-type': 'text/html' })
  const list = await player.get('/settings/saves')
  t.match(list.text, /Pong.*page.*progress/s)
  t.match(list.text, /36 bytes of/)
  const path = `/settings/saves/${game.id}`
  t.match((await owner.get(`/games/${game.slug}/analytics`)).text, /players with saves<\/dt><dd>1</)
  const value = await player.get(`${path}/progress/value`)
  t.match(value, {
    text: '{"level":2}',
    headers: {
      'content-disposition': 'attachment; filename="progress.json"',
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
    },
  })
  t.match((await player.get(`${path}/page/value`)).headers, { 'content-type': 'application/octet-stream' })
  t.match(await player.submit(`${path}/progress/restore`, { version: '1' }), {
    status: 303,
    headers: { location: `${path}/progress?done=restored` },
  })
  t.match((await player.get(`${path}/progress?done=restored`)).text, /That version is the current one again/)
  t.equal((await ada.get('progress')).text, '{"level":1}')
  t.equal((await player.submit(`${path}/progress/delete`, {})).status, 303)
  t.equal((await ada.get('progress')).status, 404)
  t.match((await player.get('/settings/saves')).text, /deleted/)
  await player.submit(`${path}/progress/restore`, { version: '3' })
  t.equal((await ada.get('progress')).text, '{"level":1}')

  for (const other of ['/progress', '/progress/value']) t.equal((await bob.player.get(path + other)).status, 404)
  t.equal((await bob.player.submit(`${path}/progress/delete`, {})).status, 404)
  t.equal((await player.submit(`${path}/progress/restore`, { version: '99' })).status, 404)
  t.match(await platform.stranger.get('/settings/saves'), { status: 303 })
})
