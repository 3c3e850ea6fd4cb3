/**
 * `npm run starter-pictures`: takes a picture of each starter while it is played, with Chromium, into
 * `starters/pictures/`. Name starters to take only theirs.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { chromium, type Page } from 'playwright-core'
import { scriptForGames } from '../bin/commands/dev.ts'
import { packageInstallation } from '../bin/installation.ts'
import { servingRules } from '../bin/serving-rules.ts'
import { startDevServer } from '../clients/cli/dev/server.ts'
import { STARTERS } from '../plugins/starters/catalog.ts'
import { filesOf } from '../plugins/starters/files.ts'

const pictures = join(import.meta.dirname, '../starters/pictures')
const { browser: scripts } = packageInstallation()

/** What happens before the picture is taken, by starter. */
const SCENES: Record<string, (page: Page) => Promise<void>> = {
  page: async (page) => {
    await page.addStyleTag({ content: 'main { width: 17rem !important; padding: 0 !important }' })
    await page.click('#play')
    await page.waitForFunction("document.querySelector('.lit')")
  },
  rooms: async (page) => {
    await page.addStyleTag({ content: 'canvas { width: 17rem !important }' })
    await wait(400)
  },
  authority: async (page) => {
    await page.addStyleTag({ content: 'canvas { width: 17rem !important }' })
    await wait(400)
  },
}

/** A room with three players who stand still, since the development server has no rooms. */
const STILL_ROOM = `
const players = ['Ada', 'Grace', 'Linus'].map((name, index) => ({ id: name, name, index, x: 180 + 120 * index, y: 200 + 70 * (index % 2), points: 3 - index }))
const place = ({ x, y }) => { const view = new DataView(new ArrayBuffer(4)); view.setUint16(0, x); view.setUint16(2, y); return new Uint8Array(view.buffer) }
const coins = [[90, 110], [480, 90], [520, 430], [140, 470], [330, 390]].map(([x, y]) => ({ x, y }))
const values = new Map(Object.entries({ coins, seconds: 42, players: Object.fromEntries(players.map((player) => [player.id, player])),
  round: { flies: coins, points: { Ada: 3, Grace: 2 } } }))
export const join = async () => ({ me: players[0], players, state: { has: (key) => values.has(key), get: (key) => values.get(key), set() {}, version: 1 },
  on: (event, listener) => event === 'binary' && players.slice(1).forEach((player) => listener(place(player), player)), send() {}, sendBinary() {} })`

const playAWhile = async (page: Page) => {
  await page.click('#play')
  await wait(2500)
}

const wanted = process.argv.slice(2)
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--enable-unsafe-swiftshader', '--mute-audio'],
})
try {
  for (const starter of STARTERS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    const folder = mkdtempSync(join(tmpdir(), 'gameyard-starter-'))
    for (const { path, bytes } of await filesOf(starter)) await writeFile(join(folder, path), bytes)
    const script = (name: string) => scriptForGames(scripts, name)
    const server = await startDevServer({
      folder,
      port: 0,
      game: null,
      isolated: () => false,
      script,
      rules: servingRules,
      changed: () => {},
    })
    const page = await browser.newPage({
      viewport: { width: 480, height: 300 },
      deviceScaleFactor: 4 / 3,
      colorScheme: 'light',
    })
    await page.route('**/__service/multiplayer.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: STILL_ROOM }),
    )
    await page.route('**/auth/service/session', (route) =>
      route.fulfill({ json: { signedIn: true, user: { name: 'Ada' } } }),
    )
    await page.goto(server.url)
    await (SCENES[starter.name] ?? playAWhile)(page)
    // Titles and buttons are too small to read in a picture.
    await page.addStyleTag({ content: 'header, h1, p, main > button, body > button { display: none !important }' })
    await mkdir(pictures, { recursive: true })
    await page.screenshot({ path: join(pictures, `starter-${starter.name}.jpg`), type: 'jpeg', quality: 80 })
    await page.close()
    await server.close()
    rmSync(folder, { recursive: true })
    console.log(`starters/pictures/starter-${starter.name}.jpg`)
  }
} finally {
  await browser.close()
}
