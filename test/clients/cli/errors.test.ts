// `gameyard games errors`: the exceptions in the browsers of a game's players.
import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { machine } from './kit.ts'

t.test('the errors of players are shown, the latest first, and forgotten', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const { token } = await platform.program(owner)
  const { gameyard, json } = machine(t, { SERVICE_API_TOKEN: token as string, SERVICE_BASE_URL: platform.portal })
  const { id, slug } = await platform.game(owner, { title: 'Castle' })
  t.match(await gameyard('games', 'errors', slug), { code: 0, stdout: /^No errors are reported.*errors\.js/ })

  const { gameErrors } = platform.app
  const origin = { gameId: id, deployId: null, browser: 'Firefox on Windows' }
  const error = { path: 'main.js', line: 3, column: 7, stack: null, count: 12 }
  gameErrors.add(origin, [{ ...error, message: 'TypeError: \u001b[2Jgone\nsecond' }])
  await gameErrors.flush()
  platform.clock.advance(60_000)
  gameErrors.add(origin, [{ message: 'Unhandled: 7', path: null, line: null, column: null, stack: null, count: 1 }])
  await gameErrors.flush()
  const { stdout } = await gameyard('games', 'errors', slug)
  t.match(stdout, /^LAST +TIMES +WHERE +WHAT *\n2026-11-21 12:01 UTC +1 +– +Unhandled: 7\n/)
  t.match(stdout, /\n2026-11-21 12:00 UTC +12 +main\.js:3:7 +TypeError: �\[2Jgone second\n$/)
  t.match(await json('games', 'errors', slug), { errors: [{ count: 1 }, { ...error, source: null }] })
  t.match(await gameyard('games', 'errors', slug, '--clear'), { code: 0, stdout: 'The errors are forgotten.\n' })
  t.same(await json('games', 'errors', slug), { errors: [] })
  t.match(await gameyard('games', 'errors', 'nowhere'), { code: 1, stderr: /nowhere/ })
})
