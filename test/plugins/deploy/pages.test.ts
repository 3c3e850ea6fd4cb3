import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy, liveBuild } from './build.ts'

t.test('the program that the deploys page offers deploys a folder', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player, ['deployments:write'])
  const page = await player.get(`/games/${game.slug}/deploys`)
  const code = [...page.text.matchAll(/<code>([\s\S]*?)<\/code>/g)]
    .map(
      ([, text]) =>
        text?.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&') ?? '',
    )
    .find((text) => text.includes('createHash'))
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-page-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const files = { ...build('by hand'), 'deep/er/ü.txt': 'deep' }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, 'build', path)), { recursive: true })
    await writeFile(join(folder, 'build', path), text)
  }
  await writeFile(join(folder, 'deploy.mjs'), code ?? '')
  const { stdout } = await promisify(execFile)(process.execPath, ['deploy.mjs', './build'], {
    cwd: folder,
    env: { PATH: process.env.PATH, SERVICE_API_TOKEN: program.token ?? '' },
  })
  t.equal(stdout.trim(), `${platform.portal}/games/pong`)
  t.same(await liveBuild(platform, game.id), files)
})

t.test('a deploy is brought back from the history', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const { deployId } = await deploy(platform, program, game.id, build('one'), 'The <first>')
  platform.clock.advance(1000)
  await deploy(platform, program, game.id, build('two'))
  const page = await player.get('/games/pong/deploys')
  t.match(page.text, /The &lt;first/)
  const [, action] = /action="([^"]+\/rollback)"/.exec(page.text) ?? []
  t.equal(action, `/games/pong/deploys/${deployId}/rollback`)
  t.match(await player.submit(action ?? '', {}), { status: 303, headers: { location: '/games/pong/deploys?restored' } })
  t.same(await liveBuild(platform, game.id), build('one'))
  const other = await platform.signUp()
  t.equal((await other.get('/games/pong/deploys')).status, 404)
  t.equal((await other.submit(action ?? '', {})).status, 404)
})
