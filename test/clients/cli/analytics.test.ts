// `gameyard games analytics`: the statistics of a game by day.
import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { machine } from './kit.ts'

t.test('the statistics of a game are shown by day, and in total', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const { token } = await platform.program(owner)
  const { gameyard, json } = machine(t, { SERVICE_API_TOKEN: token as string, SERVICE_BASE_URL: platform.portal })
  const { id, slug } = await platform.game(owner, { title: 'Castle' })
  const none = await gameyard('games', 'analytics', slug)
  t.match(none, { code: 0, stdout: /^DAY +PLAYS +PLAYERS +SIGN-INS +AT ONCE *\nTotal +0 +0 +0 +0\n$/ })

  const { count } = platform.app.games
  for (let play = 0; play < 12; play++) count.play(id, `visitor ${play % 4}`)
  for (let signIn = 0; signIn < 3; signIn++) count.signIn(id, owner.id)
  count.present(id, 2)
  await count.flush()
  // The clock of the platform stands still.
  const range = ['--from', '2026-11-20', '--to', '2026-11-21']
  t.match(await gameyard('games', 'analytics', slug, ...range), {
    stdout: /ONCE *\n2026-11-21 +12 +4 +3 +2\nTotal +12 +4 +3 +2\n$/,
  })
  const today = { plays: 12, uniquePlayers: 4, signIns: 3, peakPlayers: 2 }
  const shown = await json('games', 'analytics', slug, ...range)
  t.match(shown, {
    days: [
      { date: '2026-11-20', plays: 0 },
      { date: '2026-11-21', ...today },
    ],
    totals: today,
  })
  t.match(await gameyard('games', 'analytics', slug, '--from', 'yesterday'), { code: 1, stderr: /from/ })
  t.match(await gameyard('games', 'analytics', 'nowhere'), { code: 1, stderr: /nowhere/ })
})
