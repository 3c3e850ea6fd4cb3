// The operator's terms and privacy notice, in the footer, at sign-up, and as pages from Markdown files.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../config/load.ts'
import { ConfigError } from '../../../config/problems.ts'
import { families } from '../../../drivers/index.ts'
import { plugins } from '../../../plugins/index.ts'
import { startPlatform } from '../../kit/platform.ts'

const TERMS = `# Rules of the yard

Be kind.

## Not allowed

<script>alert(1)</script> <img src=x onerror=alert(1)>

[a trap](javascript:alert(1)) [another](data:text/html,x) [the rules](https://example.org/?a=1&b="2")
![tracker](https://elsewhere.example/pixel.png)
`

function folderWith(t: Test, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-legal-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

t.test('terms and privacy notice are on every page, at sign-up, and pages of their own', async (t) => {
  const folder = folderWith(t, { 'terms.md': TERMS, 'privacy.md': 'We keep *nothing*.' })
  const legal = {
    operator: 'Yard & Sons',
    contact: 'host@example.org',
    terms: join(folder, 'terms.md'),
    privacy: join(folder, 'privacy.md'),
  }
  const { stranger } = await startPlatform(t, { config: { portal: { legal } } })
  for (const path of ['/', '/sign-in', '/docs/quick-start', '/legal/terms'])
    t.match(
      (await stranger.get(path)).text,
      /<footer[\s\S]*run by Yard &amp; Sons[\s\S]*mailto:host@example\.org[\s\S]*\/legal\/terms[\s\S]*\/legal\/privacy/,
      path,
    )
  t.match(
    (await stranger.get('/sign-up')).text,
    /accept the <a href="\/legal\/terms"[^>]*>terms<\/a> and the <a href="\/legal\/privacy"/,
  )
  t.notMatch((await stranger.get('/sign-in')).text, /you accept/, 'where no account is made')
  const withGuests = await startPlatform(t, { config: { portal: { legal }, auth: { guests: true } } })
  t.match(
    (await withGuests.stranger.get('/sign-in')).text,
    /playing as a guest you accept the <a href="\/legal\/terms"/,
  )
  const terms = await stranger.get('/legal/terms')
  t.match(terms, { status: 200, text: /<h1>Rules of the yard<\/h1>[\s\S]*<h2 id="not-allowed">/ })
  const [article] = /<article[\s\S]*<\/article>/.exec(terms.text) ?? ['']
  t.notMatch(article, /<script|<img|href="(javascript|data):/)
  t.match(article, /&lt;script&gt;[\s\S]*a trap another[\s\S]*href="https:\/\/example\.org\/\?a=1&amp;b=/)
  t.match((await stranger.get('/legal/privacy')).text, /<h1>Privacy<\/h1>[\s\S]*We keep <em>nothing<\/em>/)
})

t.test('addresses elsewhere are linked, and without any there is nothing', async (t) => {
  const legal = { terms: 'https://example.org/terms', contact: 'Room 12' }
  const { stranger } = await startPlatform(t, { config: { portal: { legal } } })
  const home = (await stranger.get('/')).text
  t.match(home, /Room 12[\s\S]*href="https:\/\/example\.org\/terms"/)
  t.notMatch(home, /\/legal\//)
  t.match(await stranger.get('/legal/terms'), { status: 302, headers: { location: 'https://example.org/terms' } })
  t.equal((await stranger.get('/legal/privacy')).status, 404)
  const plain = await startPlatform(t)
  t.notMatch((await plain.stranger.get('/sign-up')).text, /run by|By creating an account/)
})

t.test('a file is found beside the configuration, and a missing one is an error with its line', async (t) => {
  const folder = folderWith(t, {
    'gameyard.yaml': 'portal:\n  legal:\n    terms: ./terms.md\n    privacy: ./nowhere.md\n',
    'terms.md': TERMS,
    'good.yaml': 'portal:\n  legal: { terms: ./terms.md, privacy: "https://example.org/privacy" }\n',
  })
  const load = (file: string) => loadConfig({ file: join(folder, file), cwd: '/', env: {}, families, plugins })
  const { config } = await load('good.yaml')
  t.equal(config.portal.legal.terms, join(folder, 'terms.md'))
  t.equal(config.portal.legal.privacy, 'https://example.org/privacy')
  const error = await load('gameyard.yaml').catch((error) => error)
  t.ok(error instanceof ConfigError)
  t.match(error.problems, [{ key: 'portal.legal.privacy', line: 4, message: /there is no file .*nowhere\.md/ }])
})
