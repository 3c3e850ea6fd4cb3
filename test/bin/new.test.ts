// `gameyard new`: a game in a new folder, which `gameyard dev` plays without a platform and `gameyard deploy` publishes.
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { scriptForGames } from '../../bin/commands/dev.ts'
import { packageInstallation } from '../../bin/installation.ts'
import { servingRules } from '../../bin/serving-rules.ts'
import { startDevServer } from '../../clients/cli/dev/server.ts'
import { findStarter, STARTERS } from '../../plugins/starters/catalog.ts'
import { filesOf } from '../../plugins/starters/files.ts'
import { run, temporaryFolder } from './program.ts'

t.test('new writes a game with its title, and says what next', async (t) => {
  const cwd = temporaryFolder(t)
  const written = await run(t, ['new', 'boat', '--starter', 'canvas', '--title', 'My Boat'], { cwd })
  t.match(written, { code: 0, stderr: '' })
  t.match(written.stdout, 'gameyard dev boat')
  t.match(written.stdout, 'gameyard deploy boat --create')
  t.same(readdirSync(join(cwd, 'boat')).sort(), ['game.js', 'gameyard.json', 'index.html'])
  t.match(readFileSync(join(cwd, 'boat/index.html'), 'utf8'), '<title>My Boat</title>')
  t.same(JSON.parse(readFileSync(join(cwd, 'boat/gameyard.json'), 'utf8')), {
    folder: '.',
    boards: findStarter('canvas')?.boards,
    features: { inputs: ['touch', 'keyboard', 'mouse', 'gamepad'], players: ['single'], languages: ['en'] },
  })
})

t.test('new writes into no folder with something in it, and knows its starters', async (t) => {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'full'))
  writeFileSync(join(cwd, 'full/note.txt'), 'mine')
  const full = await run(t, ['new', 'full', '--starter', 'page', '--json'], { cwd })
  t.equal(full.code, 1)
  t.match(JSON.parse(full.stdout), { error: { code: 'not_empty', message: 'full is not empty.' } })
  t.same(readdirSync(join(cwd, 'full')), ['note.txt'])
  const unknown = await run(t, ['new', 'other', '--starter', 'canvsa'], { cwd })
  t.equal(unknown.code, 2)
  for (const { name } of STARTERS) t.match(unknown.stderr, name)
})

t.test(
  'without a platform, the development server has the scripts that a game imports, and nobody is signed in',
  async (t) => {
    const folder = temporaryFolder(t)
    for (const { path, bytes } of await filesOf(findStarter('canvas') as never))
      writeFileSync(join(folder, path), bytes)
    const { browser } = packageInstallation()
    const script = (name: string) => scriptForGames(browser, name)
    const server = await startDevServer({
      folder,
      port: 0,
      game: null,
      isolated: () => false,
      script,
      rules: servingRules,
      changed: () => {},
    })
    t.teardown(() => server.close())
    const get = (path: string) => fetch(new URL(path, server.url))
    // Only Node's own client sends `Sec-Fetch-Mode`, and it has no destination.
    t.match(await (await get('/level/2')).text(), /<canvas/, 'an address in the game gets its page')
    const headers = { 'sec-fetch-dest': 'image' }
    const absent = request(new URL('/Hero.png', server.url), { headers }).end()
    const [answer] = await once(absent, 'response')
    t.match(answer.resume(), { statusCode: 404, headers: { 'content-type': /^text\/plain/ } }, 'a picture gets none')
    t.same(await (await get('/auth/service/session')).json(), { signedIn: false })
    for (const name of ['multiplayer', 'saves', 'scores', 'mount']) {
      const answer = await get(`/__service/${name}.js`)
      t.match({ status: answer.status, type: answer.headers.get('content-type') }, { status: 200, type: /javascript/ })
      t.match(await answer.text(), /export/)
    }
    t.equal((await get('/__service/page.js')).status, 404, 'scripts of the portal are not for games')
    t.equal((await get('/__service/saves')).status, 404)
  },
)
