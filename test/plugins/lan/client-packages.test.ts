import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { plainEnvironment } from '../../kit/packages.ts'
import { startPlatform } from '../../kit/platform.ts'

t.test('npm installs the packages from the platform, as the guides and the page say', async (t) => {
  const { stranger, app } = await startPlatform(t, { listen: true })
  const { text } = await stranger.get('/download')
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-client-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const urls = ['adapter', 'browser', 'engines', 'room', 'sdk'].map((name) => {
    const url = `${app.origins.portal}/download/gameyard-${name}.tgz`
    t.ok(text.includes(`npm install ${url}`), `the page names ${name}`)
    return url
  })
  // The adapter has a dependency, which a registry has.
  const alone = urls.filter((url) => !url.includes('adapter'))
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--cache', join(folder, 'cache')]
  // The platform answers from this process, so it must not wait.
  await promisify(execFile)('npm', ['install', ...options, ...alone], { cwd: folder, env: plainEnvironment() })
  writeFileSync(
    join(folder, 'try.mjs'),
    "import { createClient } from '@gameyard/sdk'\nconsole.log(typeof createClient)\n",
  )
  t.equal(execFileSync(process.execPath, ['try.mjs'], { cwd: folder, encoding: 'utf8' }), 'function\n')
})

t.test('a package has its types, and is sent again only when it has changed', async (t) => {
  const { stranger, app } = await startPlatform(t)
  const url = '/download/gameyard-adapter.tgz'
  const answer = await app.inject({ url, headers: { host: 'localhost:8080' } })
  t.match(answer.headers, { 'content-type': 'application/gzip', etag: /^"[0-9a-f]{64}"$/ })
  const packed = gunzipSync(answer.rawPayload).toString('latin1')
  for (const path of ['package.json', 'express.js', 'express.d.ts', 'README.md', 'LICENSE'])
    t.ok(packed.includes(`package/${path}\0`), path)
  const headers = { 'if-none-match': String(answer.headers.etag) }
  t.equal((await stranger.get(url, { headers })).status, 304)
  t.equal((await stranger.request('HEAD', url)).headers['content-length'], String(answer.rawPayload.length))
})
