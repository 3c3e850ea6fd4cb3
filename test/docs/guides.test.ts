// Runs every instruction of the guides in their order, on a running platform. GUIDES=sdk,cli runs only those.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import type { Browser, BrowserContext } from 'playwright-core'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { ORDER } from '../../plugins/docs/guide-order.ts'
import { run, temporaryFolder } from '../bin/program.ts'
import { PASSWORD, startTestServer, type TestServer } from '../clients/cli/kit.ts'
import { aiConfig, openai, startAiServer } from '../kit/ai-server.ts'
import { openBrowser } from '../kit/browser.ts'
import { hasPrograms } from '../kit/components.ts'
import { ALL } from '../kit/extent.ts'
import { linkedProject } from '../kit/packages.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { ask } from '../kit/upload.ts'
import { blocksOf, guideNames, guideText } from './blocks.ts'
import { type Place, Reader } from './reader.ts'

t.setTimeout(timeLimit(900))

/** Guides with separate, more thorough tests. */
const ELSEWHERE = ['writing-a-driver', 'writing-a-plugin']
const SCOPES = [
  'assets:read',
  'assets:write',
  'assets:generate',
  'games:read',
  'games:write',
  'deployments:write',
  'oauth:write',
  'ai:generate',
]

/**
 * The short form follows one guide of each kind: the command line, a script in a page, requests by curl, programs with
 * the SDK, and configuration. It only parses the blocks of the others.
 */
const FOLLOWED = ALL ? guideNames() : ['quick-start', 'sign-in', 'sdk', 'self-hosting', 'security-model']

const wanted = process.env.GUIDES?.split(',') ?? FOLLOWED
const inOrder = [...ORDER.flatMap(({ names }) => names), ...guideNames()]
const names = [...new Set(inOrder)].filter(
  (name) => guideNames().includes(name) && !ELSEWHERE.includes(name) && wanted.includes(name),
)
const texts = names.map(guideText)
const blocks = texts.flatMap(blocksOf)

const provider = await startAiServer(t)
// The provider returns an object where one is requested, else a sentence.
provider.answer = (request, response) =>
  openai(JSON.stringify(request.body).includes('goblin') ? '{"name":"Grix","gold":12}' : 'Hail, brave knight of dawn!')(
    request,
    response,
  )
const platform = await startTestServer(t, {
  config: {
    ai: aiConfig(provider),
    blender: { driver: ALL || process.env.GUIDES ? 'subprocess' : 'none' },
    limits: { rateLimits: false },
  },
})
const { portal, port } = platform.server
const env = {
  SERVICE_BASE_URL: portal,
  SERVICE_API_TOKEN: await platform.token(SCOPES),
  STRIPE_SECRET_KEY: 'sk_test_0123456789',
  STRIPE_WEBHOOK_SECRET: 'whsec_0123456789',
}

// All guides use this game. The quick start creates it itself.
if (names[0] !== 'quick-start') await makeGame(t)
const needsPackages = blocks.some(({ code }) => code.includes("'@gameyard/"))
// test/clients/packages.test.ts installs the packages with npm.
const packages = needsPackages ? linkedProject(t, ['adapter', 'sdk'], ['express']) : temporaryFolder(t)
mkdirSync(join(packages, 'node_modules'), { recursive: true })
const browser = blocks.some(({ page }) => page) ? await openBrowser(t) : null
let signedIn: Promise<BrowserContext> | undefined

for (const [index, name] of names.entries()) {
  t.test(`docs/${name}.md says what is true`, async (t) => {
    const parts = blocksOf(texts[index] ?? '')
    const reader = new Reader(t, placeFor(await clientId()))
    for (const block of parts) {
      const title = `line ${block.line}: ${block.language}${block.file ? ` ${block.file}` : ''}`
      if (block.mark !== 'run') continue
      if (block.needs && !hasPrograms(t, block.needs, 'bwrap')) continue
      try {
        await reader.follow(block)
        t.pass(title)
      } catch (error) {
        t.fail(title, { found: error instanceof Error ? error.message.slice(0, 3000) : error })
        return
      }
    }
  })
}

if (names.includes('quick-start'))
  t.test('the ten lines of the README run in the game of the quick start', async (t) => {
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
    const [fence] = /^ *```js\n[\s\S]*?^ *```$/m.exec(readme) ?? []
    const [block] = blocksOf(String(fence).replace('```js', '```js run page'))
    t.match(block?.code, /saves\.js'[\s\S]*scores\.js'/, 'they use saves and scores')
    if (block) await new Reader(t, placeFor(await clientId())).follow(block)
  })

function placeFor(clientId: string): Place {
  return {
    port,
    clientId,
    packages,
    env,
    async openPage() {
      if (!browser) return null
      signedIn ??= signIn(browser, platform)
      const page = await (await signedIn).newPage()
      await page.goto(`http://my-game.localhost:${port}/auth/service/start?returnTo=/`)
      return page
    },
  }
}

async function signIn(browser: Browser, { email }: TestServer): Promise<BrowserContext> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${portal}/sign-in`)
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', PASSWORD)
  await page.click('main button[type=submit]')
  await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'))
  await page.close()
  return context
}

async function makeGame(t: Test): Promise<void> {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'index.html'), '<!doctype html><title>My game</title><h1>My game</h1>')
  const { code, stderr } = await run(t, ['deploy', '.', '--create', '--title', 'My game'], {
    cwd,
    env: { ...env, HOME: cwd },
  })
  if (code !== 0) throw new Error(stderr)
}

async function clientId(): Promise<string> {
  const { body } = await ask('GET', `${portal}/api/games/my-game`, {
    headers: { authorization: `Bearer ${env.SERVICE_API_TOKEN}` },
  })
  return body.clientId ?? 'not-made-yet'
}

t.test('a block that does not work is noticed', async (t) => {
  const reader = new Reader(t, placeFor('x'))
  const bad = (text: string) => Promise.all(blocksOf(text).map((block) => reader.follow(block)))
  await t.rejects(bad('```bash run\nfalse\n```\n'), /ended with 1/)
  await t.rejects(bad('```bash run\ngameyard no-such-command\n```\n'), /ended with 2/)
  await t.rejects(bad('```js run\nthrow new Error("no")\n```\n'), /no/)
  await t.rejects(bad('```yaml run\nlisten: { prot: 1 }\n```\n'), /port/)
  await t.rejects(bad('```ruby run\nputs 1\n```\n'), /ruby/)
  t.throws(() => blocksOf('```bash run sometimes\nfalse\n```\n'), /sometimes/)
})

t.test('every block of every guide can be parsed', async (t) => {
  for (const name of guideNames()) {
    for (const { language, code, line, mark } of blocksOf(guideText(name))) {
      const where = `docs/${name}.md, line ${line}`
      try {
        if (['js', 'ts'].includes(language)) transformSync(code, { loader: language as 'js' })
        else if (language === 'yaml') parse(code)
        else if (language === 'json') JSON.parse(code)
        else if (language === 'bash' && mark === 'run') execFileSync('bash', ['-n'], { input: code, stdio: 'pipe' })
      } catch (error) {
        t.fail(where, { found: String(error) })
      }
    }
  }
})

t.test('no block of any guide is left out by forgetting', async (t) => {
  for (const name of guideNames()) t.doesNotThrow(() => blocksOf(guideText(name)), name)
  t.throws(() => blocksOf('Do:\n\n```bash\nfalse\n```\n'), /line 3: .*run, by-hand and shown/)
  t.throws(() => blocksOf('1. Do:\n   ```bash\n   false\n   ```\n'), /line 2: .*run, by-hand and shown/)
  t.throws(() => blocksOf('```bash run by-hand\nfalse\n```\n'), /one of/)
  t.throws(() => blocksOf('```\nfalse\n```\n'), /one of/)
  t.throws(() => blocksOf('```bash run\nfalse\n'), /no other end/)
  t.equal(blocksOf('1. Do:\n   ```bash by-hand\n   true\n   ```\n')[0]?.code, 'true\n')
})
