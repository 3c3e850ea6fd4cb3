import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { build, deploy } from '../deploy/build.ts'
import { sendFile } from './pictures.ts'

/** All views when screenshots are requested, else the two that differ most. */
const VIEWS = [390, 1280]
  .flatMap((width) => (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })))
  .filter(({ width, colorScheme }) => process.env.SCREENSHOTS || (width === 390) === (colorScheme === 'dark'))

/** Opens a window of a size and colour scheme, for a player or a visitor. */
async function openAs(
  browser: Browser,
  platform: Platform,
  player: PlayerClient | null,
  { width, colorScheme }: (typeof VIEWS)[number] = { width: 1280, colorScheme: 'light' },
) {
  const watched = await openPage(browser, { colorScheme, viewport: { width, height: 800 }, baseURL: platform.portal })
  const cookies = [...(player?.cookiesOf() ?? [])].map(([name, value]) => ({ name, value, url: platform.portal }))
  await watched.context.addCookies(cookies)
  return watched
}

inFull(t)?.test('every page of games is sound, small and large, light and dark', async (t) => {
  t.setTimeout(timeLimit(180))
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const empty = await openAs(browser, platform, await platform.signUp())
  for (const path of ['/', '/games', '/catalog']) {
    await empty.page.goto(path)
    await screenshot(empty.page, `empty${path.replaceAll('/', '-')}`)
    await expectNoAxeViolations(t, empty.page, `${path} with nothing in it`)
  }
  t.same(empty.complaints, [])

  const player = await platform.signUp()
  const program = await platform.program(player)
  const description = 'Run over the roofs and hand the ball on.\n\nFor two to eight players, on one keyboard or many.'
  const titles = ['Ridge Runner', 'Four of a Mind', 'Sonar', 'Ball & Block', 'Star Porter']
  for (const title of titles) {
    const other = await platform.game(player, { title, tags: ['puzzle', 'solo'] })
    await deploy(platform, program, other.id, build(title))
    platform.clock.advance(1000)
  }
  const game = await platform.game(player, { title: 'Rooftop Relay', description, tags: ['co-op', 'running'] })
  const first = await deploy(platform, program, game.id, build('one'), 'First public build')
  platform.clock.advance(3_600_000)
  await deploy(
    platform,
    program,
    game.id,
    build('two'),
    'Faster start, new skyline, and a message that goes on for a while',
  )
  t.ok(first)
  const draft = await platform.game(player, {
    title: 'A title that is long enough to wrap on a small telephone',
    visibility: 'private',
  })

  const gone = await platform.game(player, { title: 'Fence Hopper' })
  await player.delete(`/api/games/${gone.id}`)
  for (const [name, bytes] of [
    ['a.jpg', readFileSync(resolve(import.meta.dirname, '../../fixtures/media/photo.jpg'))],
    ['b.webp', readFileSync(resolve(import.meta.dirname, '../../fixtures/media/drawing.webp'))],
    ['c.webm', readFileSync(resolve(import.meta.dirname, '../../fixtures/media/clip.webm'))],
  ] as const)
    await sendFile(player, `/api/games/${game.id}/media`, bytes, name)
  await player.submit(`/games/${draft.slug}/team/invitations`, { role: 'tester', do: 'link' })
  await liveThrough(platform, game.id)

  const paths: [string, PlayerClient | null][] = [
    ['/', null],
    ['/', player],
    ['/catalog', null],
    ['/catalog?tag=puzzle&sort=popular', null],
    ['/catalog?q=nothing', null],
    ['/games', player],
    ['/games/new', player],
    [`/games/${game.slug}`, player],
    [`/games/${game.slug}`, null],
    [`/games/${game.slug}/deploys`, player],
    [`/games/${game.slug}/settings`, player],
    [`/games/${game.slug}/integrate`, player],
    [`/games/${game.slug}/analytics`, player],
    [`/games/${draft.slug}/analytics`, player],
    [`/games/${draft.slug}/settings`, player],
    [`/games/${draft.slug}`, player],
    [`/games/${draft.slug}/deploys`, player],
  ]
  for (const view of VIEWS) {
    for (const who of [player, null]) {
      const { page, complaints, context } = await openAs(browser, platform, who, view)
      for (const [path, viewer] of paths) {
        if (viewer !== who) continue
        const name = `${path} for ${who ? 'its owner' : 'a visitor'} at ${view.width} ${view.colorScheme}`
        await page.goto(path)
        await screenshot(
          page,
          `${view.width}-${view.colorScheme}-${who ? 'owner' : 'visitor'}${path.replaceAll(/[/?=]/g, '-')}`,
        )
        await expectNoAxeViolations(t, page, `axe: ${name}`)
        await expectNoOverflow(t, page, `width: ${name}`)
      }
      // The plugins of this test may not serve the frame's own origin.
      t.same(
        complaints.filter((line) => !/404|frame|fullscreen/i.test(line)),
        [],
        'no complaints',
      )
      await context.close()
    }
  }
})

/** Records four weeks of activity in a game. */
async function liveThrough(platform: Platform, gameId: string): Promise<void> {
  const { count } = platform.app.games
  for (let day = 0; day < 28; day++) {
    const plays = Math.round(20 + day * 3 + 25 * Math.sin(day / 1.7) ** 2)
    for (let play = 0; play < plays; play++) count.play(gameId, `visitor ${play % Math.ceil(plays * 0.6)}`)
    for (let times = 0; times < plays / 4; times++) count.signIn(gameId)
    count.present(gameId, Math.round(plays / 6))
    await count.flush()
    count.present(gameId, 0)
    platform.clock.advance(24 * 3_600_000)
  }
}

t.test('a game is made, changed and deleted by forms, without a script', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const form = { title: 'Form Game', description: 'By hand.', tags: 'One, twö  three', visibility: 'public' }
  t.match(await player.submit('/games/new', form), {
    status: 303,
    headers: { location: /^\/games\/form-game\/deploys$/ },
  })
  const game = (await player.get('/api/games')).body.games[0]
  t.match(game, { title: 'Form Game', tags: ['one', 'two', 'three'] })

  const wrong = await player.submit('/games/new', { ...form, title: '', tags: 'パズル!' })
  t.equal(wrong.status, 400)
  t.match(wrong.text, /Give it a title/)
  t.match(wrong.text, /letters, digits and hyphens/)
  t.match(wrong.text, /By hand\./, 'what was typed stays')

  t.match(await player.submit('/games/new', { ...form, title: '日本語', slug: ' Nihongo ' }), {
    status: 303,
    headers: { location: '/games/nihongo/deploys' },
  })
  t.match((await player.get('/games/new')).text, 'my-game in http://my-game.localhost:8080')
  const badSlug = await player.submit('/games/new', { ...form, slug: 'a b' })
  t.match([badSlug.status, badSlug.text], [400, /Use 1 to 50 letters, digits/])
  const taken = await player.submit('/games/new', { ...form, slug: 'nihongo' })
  t.match([taken.status, taken.text], [409, /value="nihongo"[\s\S]*The address nihongo is taken/])

  const changed = await player.submit('/games/form-game/settings', {
    ...form,
    title: '<b>New</b>',
    visibility: 'private',
  })
  t.match(changed, { status: 303, headers: { location: /^\/games\/form-game\/settings\?saved$/ } })
  const served = await player.submit('/games/form-game/settings/serving', {
    crossOriginIsolated: 'off',
    multiplayer: 'on',
    maxPlayersPerRoom: '8',
    savesBytes: '4096',
  })
  t.equal(served.status, 303)
  t.match((await player.get('/games/form-game/settings')).text, /value="4096" name="savesBytes"/)
  t.match((await player.get(`/api/games/${game.id}`)).body, {
    title: '<b>New</b>',
    visibility: 'private',
    playable: false,
    settings: {
      authWidget: 'off',
      crossOriginIsolated: false,
      multiplayer: { enabled: true, maxPlayersPerRoom: 8 },
      saves: { bytes: 4096 },
    },
  })
  t.notMatch((await player.get('/games/form-game')).text, /<b>New/, 'a title is text')

  const other = await platform.signUp()
  t.equal((await other.get('/games/form-game')).status, 404, 'a private game is nobody else’s')
  t.equal((await platform.stranger.get('/games/form-game')).status, 404)
  t.equal((await other.submit('/games/form-game/settings/delete', { confirm: 'form-game' })).status, 404)
  t.match(await platform.stranger.get('/games'), { status: 303, headers: { location: /^\/sign-in\?returnTo=/ } })
  const foreign = { headers: { origin: 'http://form-game.localhost:8080' } }
  t.equal((await player.submit('/games/form-game/settings/delete', { confirm: 'form-game' }, foreign)).status, 403)
  const unsure = await player.submit('/games/form-game/settings/delete', { confirm: 'form game' })
  t.equal(unsure.status, 400)
  t.match(unsure.text, /type form-game to confirm/)
  const deleted = await player.submit('/games/form-game/settings/delete', { confirm: 'form-game' })
  t.match(deleted, { status: 303, headers: { location: /^\/games\?deleted=gam_\w+$/ } })
  t.equal((await player.get('/games/form-game')).status, 404)
  t.match((await player.get('/games?deleted')).text, /You can restore a deleted game for 30 days/)
  const restored = await player.submit('/games/restore', { game: game.id })
  t.match(restored, { status: 303, headers: { location: /^\/games\/form-game\/settings$/ } })
  t.equal((await player.get('/games/form-game')).status, 200)
})

t.test('the play page frames the game, signed in for players, isolated where the game asks for it', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  t.notMatch((await platform.stranger.get('/games/pong')).text, /<iframe/, 'nothing to frame yet')
  await deploy(platform, program, game.id, build('one'))
  const src = (text: string) => /<iframe src="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
  const visited = await platform.stranger.get('/games/pong')
  t.equal(src(visited.text), 'http://pong.localhost:8080/')
  t.equal(visited.headers['cross-origin-embedder-policy'], undefined)
  t.match(visited.headers['content-security-policy'], /frame-src 'self' http:\/\/\*\.localhost:8080/)
  const signedIn = await player.get('/games/pong')
  t.equal(src(signedIn.text), 'http://pong.localhost:8080/auth/service/start?embed=1&returnTo=%2F')
  await program.patch(`/api/games/${game.id}`, { settings: { crossOriginIsolated: true } })
  const isolated = await platform.stranger.get('/games/pong')
  t.match(isolated.text, /allow="[^"]*cross-origin-isolated/)
  t.equal(isolated.headers['cross-origin-embedder-policy'], 'require-corp')
  t.equal(isolated.headers['cross-origin-opener-policy'], 'same-origin')
  await program.patch(`/api/games/${game.id}`, { url: 'https://elsewhere.example.org/x' })
  const elsewhere = await platform.stranger.get('/games/pong')
  t.notMatch(elsewhere.text, /<iframe/)
  t.match(elsewhere.text, /href="https:\/\/elsewhere\.example\.org\/x"/)
})
