import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { DeployRow } from '../../../plugins/deploy/entities.ts'
import { SecretScanner } from '../../../plugins/deploy/secrets/secret-scanner.ts'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { SEED } from '../../kit/seed.ts'
import { type Build, filesOf, tarOf, type Upload, upload } from './build.ts'
import { zipOf } from './zip-writer.ts'

async function withGame(t: Test) {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const secret = game.oauth.clientSecret as string
  const start = async (files: Build) => {
    const { body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
    return body as { deployId: string; uploads: Upload[]; bundle: { url: string; headers: Record<string, string> } }
  }
  const finalize = (deployId: string, query = '') => program.post(`/api/deploy/${deployId}/finalize${query}`)
  /** Uploads a build file by file, and returns the answer of its finalization. */
  const deploy = async (files: Build, query = '') => {
    const { deployId, uploads } = await start(files)
    for (const wanted of uploads) await upload(platform, wanted, files)
    return { deployId, ...(await finalize(deployId, query)) }
  }
  /** Sends a file to the form of the page, and returns the text of the answer. */
  const publishFile = async (bytes: Buffer, filename: string) => {
    const head = `--xxxx\r\nContent-Disposition: form-data; name="archive"; filename="${filename}"\r\n\r\n`
    const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--xxxx--\r\n')])
    const headers = { 'content-type': 'multipart/form-data; boundary=xxxx' }
    return player.post(`/games/${game.slug}/deploys`, body, { headers })
  }
  const liveId = async () => (await platform.app.games.get(game.id)).liveDeployId
  return { platform, player, game, program, secret, start, finalize, deploy, publishFile, liveId }
}

/** The answer of the command that makes a game, as somebody keeps it beside the game. */
const kept = (secret: string) => `{\n  "oauth": {\n    "clientSecret": "${secret}"\n  }\n}\n`
const withSecret = (secret: string): Build => ({ 'index.html': '<h1>hi</h1>', 'data/game.json': kept(secret) })

t.test('a deploy with a client secret is refused with file and line, and without the secret', async (t) => {
  const { platform, secret, deploy, finalize, liveId } = await withGame(t)
  const refused = await deploy({ ...withSecret(secret), 'config.js': `\n\n\nexport const secret = '${secret}'` })
  t.match(refused, {
    status: 400,
    body: {
      error: {
        code: 'live_secret',
        message:
          /config\.js, line 4, .* a client secret, and one more\. Take it out of the build, and make a new one\.$/,
        details: [
          { path: 'config.js', message: 'line 4 holds a client secret' },
          { path: 'data/game.json', message: 'line 3 holds a client secret' },
        ],
      },
    },
  })
  t.notMatch(refused.text, secret.slice(11))
  const stored = await platform.app.db.em().findOneOrFail(DeployRow, { id: refused.deployId })
  t.notMatch(JSON.stringify(stored), secret.slice(11), 'the database has the digest only')
  t.equal(await liveId(), null)
  t.equal((await finalize(refused.deployId, '?preview=true')).status, 400, 'a preview is as public')

  t.equal((await finalize(refused.deployId, '?allowSecrets=true')).status, 200, 'its maker insists')
  t.equal(await liveId(), refused.deployId)
})

t.test('only a secret that works here counts', async (t) => {
  const { platform, player, game, program, secret, deploy } = await withGame(t)
  const { body } = await player.post('/api/tokens', { label: 'mine', scopes: ['games:read'] })
  const refused = await deploy(withSecret(body.token))
  t.match(refused, { status: 400, body: { error: { details: [{ message: 'line 3 holds an API token' }] } } })
  await player.delete(`/api/tokens/${body.id}`)
  t.equal((await program.post(`/api/deploy/${refused.deployId}/finalize`)).status, 200, 'it was revoked meanwhile')

  const other = `svc_secret_${randomBytes(32).toString('base64url')}`
  t.equal((await deploy(withSecret(other))).status, 200, 'a secret of another platform')
  t.equal((await deploy(withSecret('svc_secret_… svc_api_ svc_'))).status, 200, 'no secret')

  await program.post(`/api/games/${game.id}/secret?graceSeconds=60`)
  t.equal((await deploy({ ...withSecret(secret), 'a.txt': 'a' })).status, 400, 'replaced, and valid for a minute')
  platform.clock.advance(61_000)
  t.equal((await deploy({ ...withSecret(secret), 'a.txt': 'b' })).status, 200, 'not valid any more')
})

t.test('every way of publishing is checked', async (t) => {
  const { platform, player, game, secret, start, finalize, publishFile, liveId } = await withGame(t)
  const large = `${'x'.repeat(1_500_000)}\n${secret}`
  const files: Build = { ...withSecret(secret), 'large.txt': large }
  const { deployId, bundle } = await start(files)
  const { pathname, search } = new URL(bundle.url)
  t.equal((await platform.stranger.put(pathname + search, tarOf(files), { headers: bundle.headers })).status, 204)
  t.match(await finalize(deployId), {
    body: { error: { code: 'live_secret', details: [{ path: 'data/game.json' }, { path: 'large.txt' }] } },
  })

  const archive = await publishFile(zipOf(files), 'build.zip')
  t.match(archive, { status: 400, text: /data\/game\.json, line 3, holds a secret.* and one more\./ })
  t.notMatch(archive.text, secret)
  t.match(await publishFile(Buffer.from(`<p>\n${secret}`), 'game.html'), { status: 400, text: /index\.html, line 2,/ })

  const text = new Map([['index.html', Buffer.from(secret)]])
  const build = { gameId: game.id, files: text, whole: true, remove: [] }
  await t.rejects(platform.app.deploys.publish(player.id, build), { code: 'live_secret' }, 'assistants')
  t.equal(await liveId(), null)

  t.equal((await publishFile(Buffer.from('<p>fine'), 'game.html')).status, 303)
  const live = await liveId()
  const draft = `/api/games/${game.id}/draft`
  const headers = { 'content-type': 'text/plain' }
  t.equal((await player.put(`${draft}/files/index.html`, Buffer.from(secret), { headers })).status, 200)
  t.match(await player.post(`${draft}/publish`, {}), {
    status: 400,
    body: {
      error: { code: 'live_secret', details: [{ path: 'index.html', message: 'line 1 holds a client secret' }] },
    },
  })
  t.equal(await liveId(), live)
})

t.test('text is scanned whole wherever the chunks are cut, and media is left alone', async (t) => {
  const recognise = (text: string) =>
    /^svc_api_[a-z]{38}/.test(text) ? { kind: 'an API token', digest: text.slice(8, 46) } : null
  const filling = fc.stringMatching(/^(s|svc_|svc_api_)*[ xyz]{0,80}$/)
  const line = fc.tuple(filling, fc.option(fc.stringMatching(/^[a-z]{38}$/)), filling)
  const finds = (lines: [string, string | null, string][], cuts: number[]) => {
    const text = lines.map(([before, token, after]) => (token ? `${before} svc_api_${token} ${after}` : before + after))
    const bytes = Buffer.from(text.join('\n'))
    const scanner = new SecretScanner(recognise)
    let at = 0
    for (const length of [...cuts, bytes.length]) {
      scanner.push(bytes.subarray(at, at + length))
      at += length
    }
    const expected = lines.flatMap(([, token], index) => (token ? [{ digest: token, line: index + 1 }] : []))
    const found = scanner.end().map(({ digest, line }) => ({ digest, line }))
    return JSON.stringify(found) === JSON.stringify(expected)
  }
  const cuts = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 20 })
  fc.assert(fc.property(fc.array(line, { maxLength: 8 }), cuts, finds), { seed: SEED, numRuns: amount(100, 3000) })

  const picture = new SecretScanner(recognise)
  picture.push(Buffer.from(`\x89PNG\r\n\0svc_api_${'a'.repeat(38)}`))
  t.ok(picture.isDone)
  picture.push(Buffer.from(`svc_api_${'a'.repeat(38)}`))
  t.same(picture.end(), [])
})
