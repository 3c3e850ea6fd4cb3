// A game developer who has only the quick start: its commands and files, in its order, in an empty home folder of another
// user, from the first start of the platform to a game that remembers.
import t from 'tap'
import { type Block, blocksOf, guideText } from '../docs/blocks.ts'
import { openBrowser } from '../kit/browser.ts'
import { hasPrograms } from '../kit/components.ts'
import { GAMEYARD } from '../kit/gameyard.ts'
import { openHome } from '../kit/other-user.ts'
import { freePort } from '../kit/server.ts'
import { timeLimit } from '../kit/time-limit.ts'

const PASSWORD = 'correct yard battery fence'

t.test(
  'a developer publishes a game that remembers, with the printed commands',
  {
    timeout: timeLimit(240),
  },
  async (t) => {
    if (!hasPrograms(t, 'bwrap')) return
    const browser = await openBrowser(t)
    if (!browser) return
    const port = await freePort()
    const fill = (text: string) => text.replaceAll('localhost:8080', `localhost:${port}`)
    const text = fill(guideText('quick-start'))
    const blocks = blocksOf(text)
    const followed: Block[] = []
    /** The next blocks of the guide, up to and with the first that contains a text. */
    const through = (part: string): Block[] => {
      const next = blocks.slice(followed.length)
      const found = next.slice(0, next.findIndex(({ code }) => code.includes(part)) + 1)
      if (found.length === 0) throw new Error(`The quick start has no ${part} after ${followed.at(-1)?.code}`)
      followed.push(...found)
      return found
    }
    const { enter, see, write } = openHome(t, {
      commands: { gameyard: `#!/bin/sh\nexec ${GAMEYARD.map((word) => `'${word}'`).join(' ')} "$@"\n` },
      env: {
        BROWSER: 'none',
        // The machine of the test may serve something at the usual port.
        SERVICE_LISTEN__PORT: String(port),
        SERVICE_PORTAL__URL: `http://localhost:${port}`,
        SERVICE_STUDIO__URL: `http://localhost:${port}`,
        SERVICE_GAMES__DOMAIN: `localhost:${port}`,
        SERVICE_BLENDER__DRIVER: 'none',
      },
    })
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    const trouble: string[] = []
    page.on('pageerror', (error) => trouble.push(String(error)))

    // The installed program: "With the single binary the command is `gameyard serve`."
    const [start] = through('npm start')
    const [, command = ''] = /With the single binary the command is\s+`([^`]+)`/.exec(text.replaceAll('\n', ' ')) ?? []
    t.ok(start && command)
    const link = see(/(http:\/\/localhost:\d+\/setup\/[\w-]{20,})[^\w-]/)
    await enter(`${command} > /mnt/log 2>&1 & until grep -q 'set-\\?up' /mnt/log; do sleep 0.1; done; cat /mnt/log`)
    await page.goto((await link)[1] as string)
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Email').fill('ada@example.org')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create admin account' }).click()
    await page.waitForURL(/\/admin$/)

    const [login] = through('gameyard login')
    const invitation = see(/(http:\/\/localhost:\d+\/\S*code=\S+)\s/)
    const signedIn = enter(login?.code ?? '')
    await page.goto((await invitation)[1] as string)
    await page.getByRole('button', { name: 'Allow' }).click()
    t.match(await signedIn, /Ada/, 'the terminal is signed in')

    const follow = async (parts: Block[]) => {
      for (const { file, code, language, page } of parts) {
        if (file) write(file, code)
        else if (page) write('game/main.js', `\n${code}`, { append: true })
        else if (language === 'bash') await enter(code)
      }
    }
    await follow(through('deploy game --create'))
    await page.goto(`http://my-game.localhost:${port}/`)
    await page.getByText('Sign in to play.').waitFor()
    await page.getByRole('link', { name: /sign in/i }).click()
    await page.getByText('Ada, players here: 1').waitFor()
    await page.mouse.click(300, 300)
    await page.locator('.dot').waitFor()

    await follow(through('deploy --message'))
    await follow(through('boards set'))
    // "add it to main.js", and publish again.
    await follow(through('saves.js'))
    await follow(blocks.filter(({ code }) => code.includes('deploy --message')))
    await page.reload()
    await page.getByText('Visit 1. You are number 1 of 1. First: Ada').waitFor()
    await page.reload()
    await page.getByText('Visit 2. You are number 1 of 1. First: Ada').waitFor()
    t.same(trouble, [], 'the page has no complaint')
    t.same(
      blocks.slice(followed.length).map(({ code }) => code),
      [],
      'every block of the guide was followed',
    )
  },
)
