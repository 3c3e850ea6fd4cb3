// What gameyard.json and the options of the command line say about a game.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { machine, startTestServer } from './kit.ts'

t.test('a deploy sets the features of gameyard.json, and the command line changes them', async (t) => {
  const platform = await startTestServer(t)
  const env = { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: platform.server.portal }
  const { json, gameyard, cwd } = machine(t, env)
  const describe = (more: object) => writeFileSync(join(cwd, 'gameyard.json'), JSON.stringify({ folder: '.', ...more }))
  writeFileSync(join(cwd, 'index.html'), '<title>Stated</title>')

  describe({ features: { inputs: ['touch', 'keyboard'], languages: ['de'] }, clickToStart: true })
  const made = await gameyard('deploy', '--create')
  t.match(made, { code: 0, stderr: /^Features {2}inputs, languages, clickToStart$/m })
  const first = await json('games', 'get')
  t.match(first, { features: { inputs: ['touch', 'keyboard'], languages: ['de'] }, settings: { clickToStart: true } })

  const { id: gameId } = first
  describe({ gameId, features: { inputs: ['touch', 'keyboard'], languages: ['de'] } })
  t.notMatch((await gameyard('deploy')).stderr, /Features/, 'what is unchanged is not sent')
  const live = (await json('games', 'get')).liveDeployId
  describe({ gameId, features: { inputs: ['gamepad'] } })
  t.match(await gameyard('deploy', '--preview'), { code: 0, stderr: /features of gameyard\.json are set when/ })
  t.match((await json('games', 'get')).features, { inputs: ['touch', 'keyboard'] }, 'a preview changes nothing')
  writeFileSync(join(cwd, 'index.html'), '<title>Not published</title>')
  describe({ gameId, features: { inputs: ['voice'] } })
  t.match(await gameyard('deploy'), { code: 1, stderr: /must be one of touch, keyboard, mouse, gamepad/ })
  t.equal((await json('games', 'get')).liveDeployId, live, 'a refused value publishes nothing')
  describe({ gameId, features: [] })
  t.match(await gameyard('deploy'), { code: 1, stderr: /"features" is not an object/ })
  describe({ gameId, clickToStart: 'yes' })
  t.match(await gameyard('deploy'), { code: 1, stderr: /"clickToStart" is neither true nor false/ })

  describe({ gameId })
  const options = ['--input', 'none', '--players', 'single', '--players', 'online', '--language', 'PT-br']
  const update = ['games', 'update', ...options, '--orientation', 'any', '--accessibility', 'subtitles']
  const changed = await json(...update, '--no-click-to-start')
  t.match(changed.settings, { clickToStart: false })
  t.same(changed.features, {
    inputs: [],
    players: ['single', 'online'],
    languages: ['pt-BR'],
    orientation: 'any',
    accessibility: ['subtitles'],
  })
  t.match(await gameyard('games', 'get'), { stdout: /Players +single, online\n.*Language +pt-BR\n.*Phone +any/s })
  t.match(await json('games', 'update', '--orientation', 'none', '--title', 'Stated'), {
    features: { orientation: null },
  })
})
