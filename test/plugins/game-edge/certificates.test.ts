import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'

t.test('a proxy learns for which names there is a site, at whatever Host it asks', async (t) => {
  const platform = await startPlatform(t, {
    config: {
      portal: { url: 'https://yard.test' },
      studio: { url: 'https://studio.test:8443' },
      games: { domain: 'play.test:8443' },
    },
  })
  const ada = await platform.signUp()
  const game = await platform.game(ada, { title: 'Pong' })
  await platform.game(ada, { title: 'Secret', visibility: 'private' })
  const ask = async (domain: string, host = '127.0.0.1:8080') =>
    (await platform.stranger.get(`/__service/tls?domain=${encodeURIComponent(domain)}`, { host })).status

  for (const domain of [
    'yard.test',
    'studio.test',
    'play.test',
    'pong.play.test',
    'PONG.play.test',
    'secret.play.test',
  ])
    t.equal(await ask(domain), 200, domain)
  const others = ['none.play.test', 'pong.yard.test', 'evil.test', 'pong--01h00000.play.test', '127.0.0.1']
  for (const domain of [...others, 'a.pong.play.test', 'pong.play.test:8443', '', '.', '*.play.test'])
    t.equal(await ask(domain), 404, JSON.stringify(domain))
  for (const host of ['yard.test', 'pong.play.test:8443', 'gameyard:8080'])
    t.equal(await ask('pong.play.test', host), 200, `asked at ${host}`)

  const program = await platform.program(ada)
  t.equal((await program.patch(`/api/games/${game.id}`, { slug: 'ping' })).status, 200)
  t.equal(await ask('ping.play.test'), 200, 'a new name at once')
  t.equal(await ask('pong.play.test'), 200, 'the old one redirects for a while')
  t.equal((await program.delete(`/api/games/${game.id}`)).status, 204)
  t.equal(await ask('ping.play.test'), 404, 'a game that is gone')
  t.equal(await ask('pong.play.test\0'), 400, 'text that is none')
  t.equal((await platform.stranger.get('/__service/tls', { host: '127.0.0.1' })).status, 400)
})
