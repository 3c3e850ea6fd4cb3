// The tab Rooms in a browser, while rooms with scripts are played: of players and of a preview, with a script of an
// earlier version, an exception and a log that goes on.
import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { type Build, deploy, filesOf, type Upload, upload } from '../deploy/build.ts'
import { headersOf, RoomSocket, signInTo } from './kit.ts'

const LONG_WORD = 'AWordWithoutEnd'.repeat(12)

const script = (version: string) => `// ${version}
export const settings = { tick: 20, clientState: true }
const seen = []
export function join(room, player) {
  room.log('${version}:', player.name, 'is here')
}
export function message(room, player, type, data) {
  if (type === 'say') room.log(data)
  seen.push(type)
  if (type === 'fail') seen.push(data.nobody.points)
  seen.length = Math.min(seen.length, 9)
}
export function tick(room) {
  room.state.set('seen', seen.length)
}
`

t.setTimeout(timeLimit(300))

t.test('the tab Rooms shows what scripts do, use and say, at every width and by day and night', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Olga' })
  const game = await platform.game(owner, { title: 'Rooftop Relay', settings: { multiplayer: {} } })
  const program = await platform.program(owner)
  const build = (version: string): Build => ({
    'index.html': '<title>Relay</title>',
    'server/room.js': script(version),
  })
  const host = platform.gameHost(game.slug)
  const enter = async (name: string, roomId: string, at = host) => {
    const player = await platform.signUp({ name })
    await signInTo(player, at)
    const socket = new RoomSocket(t, platform, `/mp/rooms/${roomId}`, headersOf(player, at))
    await socket.enter()
    return socket
  }
  await deploy(platform, program, game.id, build('first'), 'First', 'server/room.js')
  await enter(
    'Ada-Marie von und zu Hohenstein-Württemberg',
    'a-room-with-a-name-as-long-as-the-platform-allows-for-a-room-123',
  )
  await deploy(platform, program, game.id, build('second'), 'Second', 'server/room.js')
  const ada = await enter('Ada', 'skyline')
  await enter('عبد الرحمن الخوارزمي', 'skyline')
  const files = build('next')
  const begun = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files), room: 'server/room.js' })
  for (const wanted of begun.body.uploads as Upload[]) await upload(platform, wanted, files)
  t.equal((await program.post(`/api/deploy/${begun.body.deployId}/finalize?preview=true`)).status, 200)
  const previewHost = host.replace(game.slug, `${game.slug}--${begun.body.deployId.slice(-10).toLowerCase()}`)
  await signInTo(owner, previewHost)
  await new RoomSocket(t, platform, '/mp/rooms/skyline', headersOf(owner, previewHost)).enter()
  ada.say({ t: 'send', type: 'say', data: LONG_WORD })
  ada.say({ t: 'send', type: 'fail', data: {} })
  // The page looks every few seconds of the clock.
  const seconds = setInterval(() => platform.clock.advance(1000), 250)
  t.teardown(() => clearInterval(seconds))

  const cookies = [...owner.cookiesOf()].map(([name, value]) => ({ name, value, url: platform.portal }))
  for (const width of [1280, 390])
    for (const colorScheme of ['light', 'dark'] as const) {
      const at = `${width} ${colorScheme}`
      const viewport = { width, height: 900 }
      const { page, context, complaints } = await openPage(browser, { baseURL: platform.portal, viewport, colorScheme })
      await context.addCookies(cookies)
      await page.goto(`/games/${game.slug}/rooms`)
      const table = page.getByRole('table', { name: 'Rooms of Rooftop Relay' })
      await table.locator('tbody tr').nth(2).waitFor()
      t.equal(await table.locator('tbody tr').count(), 3, `${at}: rooms of players and of the preview`)
      const row = (name: RegExp) => table.getByRole('row', { name })
      t.match(
        await row(/^skyline(?! preview)/).textContent(),
        /2 of[\s\S]*[0-9a-z]{10}[\s\S]*\d+ %[\s\S]*\d+ (KiB|KB|MB|MiB)/,
        at,
      )
      t.match(await row(/^skyline preview/).textContent(), /not live/, `${at}: the preview’s script is marked`)
      t.match(await row(/^a-room/).textContent(), /not live/, `${at}: so is an earlier version`)
      await page.getByRole('heading', { name: /TypeError/ }).waitFor()
      t.match(await page.locator('mark').textContent(), 'data.nobody.points', `${at}: the line of the exception`)
      t.match(
        await page.locator('figure.code').textContent(),
        /server\/room\.js:10:\d+[\s\S]*export function message[\s\S]*seen\.length/,
        `${at}: and those around it`,
      )
      const said = `said to the page of ${at}`
      ada.say({ t: 'send', type: 'say', data: said })
      await page.getByRole('list', { name: 'Lines' }).getByText(said).waitFor()
      await expectNoAxeViolations(t, page, `${at}: axe-core finds nothing`)
      await expectNoOverflow(t, page, `${at}: nothing sticks out`)
      await screenshot(page, `rooms-${width}-${colorScheme}`)
      t.same(complaints, [], `${at}: nothing is wrong`)
      await context.close()
    }
})
