// The script that pages load, in a real browser.
import t from 'tap'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { deploy } from '../game-edge/kit.ts'

const PAGE = `<!doctype html><html lang="en"><head><title>Pong</title>
<script src="/__service/errors.js"></script>
<script>
  null.first
</script>
<script src="gone.js"></script>
<script type="module" src="main.js"></script>
</head><body><img src="gone.png" alt=""></body></html>`

const MAIN = `// The game.
function draw() {
  throw new RangeError('drawn ' + Math.round(performance.now() * 1000))
}
Promise.reject(new TypeError('rejected'))
Promise.reject({ code: 7 })
try {
  JSON.parse('{')
} catch (error) {
  reportError(error)
}
for (let frame = 0; frame < 5; frame++) setTimeout(draw)
`

t.test('a page reports its exceptions, once each with their number', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const program = await platform.program(owner)
  await deploy(platform, program, game.id, { 'index.html': PAGE, 'main.js': MAIN })
  const { page } = await openPage(browser)
  await page.goto(platform.app.origins.game(game.slug))
  const list = async () => (await program.get(`/api/games/${game.id}/errors`)).body.errors as Record<string, unknown>[]
  await until(async () => (await list()).some(({ message }) => /drawn/.test(message as string)))
  const errors = await list()
  const found = (message: RegExp) => errors.filter((error) => message.test(error.message as string))
  t.equal(found(/^Uncaught/).length, 0)
  t.match(found(/first/), [{ path: 'index.html', line: 4, count: 1, browser: /^Chrome/ }], 'before any module')
  t.match(found(/gone\.js did not load/), [{ path: 'index.html', line: null }])
  t.match(found(/gone\.png did not load/), [{ path: 'index.html' }])
  t.match(found(/TypeError: rejected/), [
    { message: 'Unhandled: TypeError: rejected', path: 'main.js', line: 5, stack: /main\.js:5/ },
  ])
  t.match(found(/"code":7/), [{ message: 'Unhandled: {"code":7}', path: null }])
  t.match(found(/JSON/), [{ path: 'main.js', line: 8 }])
  t.match(found(/drawn/), [{ path: 'main.js', line: 3, count: 5, stack: /draw/ }])

  await page.evaluate(() => setTimeout(() => Promise.reject(new Error('at the end'))))
  await page.waitForFunction('performance.now() > 0')
  await page.goto('about:blank')
  await until(async () => (await list()).some(({ message }) => message === 'Unhandled: Error: at the end'))
  t.pass('what waits is sent when the page is closed')
})
