// Four people make one game in LAN mode: one at a laptop sets the platform up, three join at phones by the link of the
// game's tab Team, two of them in the engines of Firefox and Safari. Each deploys in turn, and the game takes part in the
// jam. Every click and every field that is filled in counts as a press.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { overflowingElements } from '../kit/browser.ts'
import { type EngineName, openEngine } from '../kit/engines/engine.ts'
import type { Query } from '../kit/engines/find.ts'
import type { EnginePage } from '../kit/engines/page.ts'
import { freePort, GAME_PORTS, startServer } from '../kit/server.ts'
import { timeLimit } from '../kit/time-limit.ts'

const PASSWORD = 'correct yard battery fence'
const LAPTOP = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }

/** The most presses of each: of Ada from the set-up link to the submission, of the others from the link to their deploy. */
const MOST_PRESSES: Record<string, number> = { Ada: 13, Ben: 9, Cleo: 6, Dan: 9 }

/** Somebody with a browser, whose presses are counted. */
class Person {
  presses = 0
  readonly name: string
  readonly #t: Test
  readonly #page: EnginePage
  #steps = 0

  constructor(t: Test, name: string, page: EnginePage) {
    this.#t = t
    this.#page = page
    this.name = name
  }

  goto = (url: string) => this.#page.goto(url)
  see = (query: Query) => this.#page.see(query)
  text = (query: Query) => this.#page.text(query)
  seeInGame = (query: Query) => this.#page.frame('.play iframe').see(query)
  arrive = (path: RegExp) => this.#page.waitForUrl(({ pathname }) => path.test(pathname))

  click(query: Query): Promise<void> {
    this.presses++
    return this.#page.click(query)
  }

  fill(label: string, text: string): Promise<void> {
    this.presses++
    return this.#page.fill({ label }, text)
  }

  upload(label: string, path: string): Promise<void> {
    this.presses++
    return this.#page.upload({ label }, path)
  }

  get complaints(): string[] {
    return this.#page.complaints
  }

  /** Returns the people in the rows of the table that begin with a text. */
  rows(beginning: string): Promise<string[]> {
    return this.#page.evaluate((text: string) => {
      const rows = [...document.querySelectorAll('tbody tr')].map((row) =>
        [...row.children].map((cell) => cell.textContent),
      )
      return rows.filter(([first]) => first?.startsWith(text)).map((cells) => cells[2] ?? '')
    }, beginning)
  }

  /** Checks that the page fits, and takes a picture of it in the folder SCREENSHOTS. */
  async look(what: string): Promise<void> {
    this.#t.same(await this.#page.evaluate(overflowingElements), [], `${this.name}, ${what}: nothing sticks out`)
    const folder = process.env.SCREENSHOTS
    const number = String(++this.#steps).padStart(2, '0')
    // The page of a game follows the height of the window, which a picture of the whole page changes.
    const fullPage = !(await this.#page.count('.play'))
    if (folder) await this.#page.screenshot(join(folder, `team-${this.name}-${number}-${what}.png`), { fullPage })
  }
}

t.test('four people make one game and submit it to the jam', { timeout: timeLimit(600) }, async (t) => {
  const open = async (name: string, engineName: EngineName, size: { width: number; height: number }) => {
    const engine = await openEngine(t, engineName)
    if (!engine) return null
    return new Person(t, name, await (await engine.newContext(size)).newPage())
  }
  const [ada, ben, cleo, dan] = [
    await open('Ada', 'chromium', LAPTOP),
    await open('Ben', 'firefox', PHONE),
    await open('Cleo', 'webkit', PHONE),
    await open('Dan', 'chromium', PHONE),
  ]
  if (!ada || !ben || !cleo || !dan) return
  const server = await startServer(t, {
    port: await freePort(GAME_PORTS),
    config: { lan: { enabled: true, address: '127.0.0.1' } },
  })
  const [setupLink = '', portal = ''] = /(http:[^"\s]+)\/setup\/[^"\s]+/.exec(server.output()) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-team-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const begun = Date.now()

  await ada.goto(setupLink)
  await ada.look('set-up')
  await ada.fill('Name', 'Ada')
  await ada.fill('Email', 'ada@example.org')
  await ada.fill('Password', PASSWORD)
  await ada.click({ button: 'Create admin account' })
  await ada.arrive(/^\/admin$/)
  await ada.look('first-steps')
  await ada.click({ link: 'Publish a game' })
  await ada.arrive(/^\/games\/new$/)
  await ada.click({ link: 'From a starter' })
  await ada.arrive(/starter$/)
  await ada.look('starter')
  await ada.click({ button: 'Create the game' })
  await ada.arrive(/^\/games\/four-notes$/)
  await ada.seeInGame({ text: 'Four Notes' })
  await ada.look('game')
  await ada.click({ link: 'Dashboard' })
  await ada.arrive(/overview$/)
  await ada.look('dashboard')
  await ada.click({ link: 'Team' })
  await ada.arrive(/team$/)
  await ada.look('team')
  await ada.click({ button: 'Create a link for makers' })
  await ada.see({ text: 'For 20 players' })
  await ada.look('link')
  const link = await ada.text('.copy-value code')

  for (const person of [ben, cleo, dan]) {
    await person.goto(link)
    await person.look('opened')
    if (person === cleo) {
      await person.fill('Name', person.name)
      await person.click({ button: 'Go on as a guest' })
    } else {
      await person.click({ link: 'Create an account' })
      await person.arrive(/sign-up/)
      await person.look('sign-up')
      await person.fill('Name', person.name)
      await person.fill('Email', `${person.name.toLowerCase()}@example.org`)
      await person.fill('Password', PASSWORD)
      await person.click({ button: 'Create account' })
    }
    await person.see({ button: 'Join' })
    await person.look('join')
    await person.click({ button: 'Join' })
    await person.arrive(/overview$/)
    await person.look('joined')
  }
  for (const person of [ben, cleo, dan]) {
    const file = join(folder, `${person.name}.html`)
    writeFileSync(file, `<!doctype html><html lang="en"><title>Four Notes</title><h1>By ${person.name}</h1>`)
    await person.click({ link: 'Publish a build' })
    await person.arrive(/deploys$/)
    await person.look('deploys')
    await person.upload('Zip archive or HTML file', file)
    await person.click({ button: 'Publish' })
    await person.see({ text: 'Your build is live' })
    await person.look('published')
  }

  await ada.click({ link: 'Jam' })
  await ada.arrive(/^\/jam$/)
  await ada.look('no-jam')
  await ada.click({ button: 'Begin the jam' })
  await ada.see({ text: 'The jam has begun' })
  await ada.look('jam')
  await ada.click({ button: 'Submit' })
  await ada.see({ text: 'Your game takes part' })
  await ada.look('submitted')
  const people = [ada, ben, cleo, dan]
  const counted = people.map(({ name, presses }) => `${name} ${presses}`).join(', ')
  t.comment(`${Math.round((Date.now() - begun) / 1000)} s; presses: ${counted}`)
  for (const { name, presses } of people) t.ok(presses <= (MOST_PRESSES[name] ?? 0), `${name} pressed ${presses} times`)

  await ada.goto(`${portal}/games/four-notes`)
  await ada.see({ text: 'by Ada, Ben, Cleo and Dan' })
  await ada.look('all')
  await ada.goto(`${portal}/games/four-notes/activity`)
  await ada.see({ text: 'Published a deploy' })
  await ada.look('activity')
  const published = await ada.rows('Published a deploy')
  t.same(published, ['Dan', 'Cleo', 'Ben', 'Ada'], 'each has deployed, the last one first')
  t.same(
    people.flatMap(({ complaints }) => complaints),
    [],
    'no browser complains',
  )
})
