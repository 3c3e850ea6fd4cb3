import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { verifiedMembers } from '../../../core/data/backups/archive.ts'
import { newId } from '../../../core/ids.ts'
import { BackgroundJob } from '../../../core/jobs/job-entities.ts'
import { createLog } from '../../../core/observe/log.ts'
import { LogTail } from '../../../core/observe/log-tail.ts'
import { definePlugin } from '../../../core/plugin.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { until } from '../../kit/until.ts'

t.test('the overview says what is wrong and why, to administrators only', async (t) => {
  let broken = true
  const lamp = definePlugin({ name: 'lamp' }, async (app) => {
    app.health.add('lamp', async () => {
      if (broken) throw new Error('no oil at redis://gate:hunter2@lamp.example:6379')
    })
    app.health.add('moon', async () => Promise.reject(new Error('behind clouds')), { vital: false })
    app.hostDashboard.stats.push({ label: 'moths', order: 5, value: () => 17 })
    app.site.navigation.push({ label: 'Lamp', href: '/admin/lamp', place: 'host', order: 5 })
  })
  const platform = await startPlatform(t, { plugins: [lamp] })
  const host = await platform.admin()
  const player = await platform.signUp()
  t.equal((await player.get('/admin')).status, 403)
  t.equal((await platform.stranger.get('/admin')).status, 303)
  t.notMatch((await player.get('/')).text, 'href="/admin', 'others are not even told of it')

  const { text, headers } = await host.get('/admin')
  t.equal(headers['cache-control'], 'no-store')
  t.match(text, 'lamp is not well')
  t.match(text, 'no oil at redis://********@lamp.example:6379', 'the reason, without the password')
  t.notMatch(text, 'hunter2')
  t.match(text, 'behind clouds')
  t.match(text, />17<.*moths|moths.*>17</s, 'a figure that a plugin declared')
  t.match(text, 'href="/admin/lamp"', 'and its entry')
  t.match(
    (await platform.stranger.get('/readyz')).body,
    { checks: { lamp: 'failed' } },
    'everybody learns the word alone',
  )
  t.equal(
    (await platform.stranger.get('/readyz')).body.checks.moon,
    undefined,
    "what is not vital is nobody's business",
  )
  broken = false
  t.match(await platform.stranger.get('/readyz'), { status: 200 })
  t.notMatch((await host.get('/admin')).text, 'is not well')
})

t.test('a new server shows its first steps until they are done', async (t) => {
  const platform = await startPlatform(t)
  const host = await platform.admin()
  const first = (await host.get('/admin')).text
  for (const step of ['Create your account', 'Let somebody in', 'Publish the first game']) t.match(first, step)
  await platform.signUp()
  await platform.game(host, { url: 'https://elsewhere.example' })
  t.notMatch((await host.get('/admin')).text, 'First steps')
})

t.test('a job that failed is seen with its error, and tried anew', async (t) => {
  const platform = await startPlatform(t)
  const { app } = platform
  const host = await platform.admin()
  const id = newId('bgj', app.clock.now())
  await app.db.em().insert(BackgroundJob, {
    id,
    name: 'nobody/handles-this',
    key: 'x',
    payload: { secret: 'word' },
    state: 'failed',
    dueAt: null,
    rerunAt: null,
    leaseId: null,
    attempts: 5,
    error: 'The oven is cold.\n    at oven.ts',
    createdAt: app.clock.now(),
  })
  t.match((await host.get('/admin')).text, 'A background job has failed')
  const { text } = await host.get('/admin/jobs')
  t.match(text, 'nobody/handles-this')
  t.match(text, 'The oven is cold.')
  t.notMatch(text, /oven\.ts|word/, 'neither stack nor payload')
  t.match(await host.submit(`/admin/jobs/${id}/retry`, {}), {
    status: 303,
    headers: { location: /^\/admin\/jobs\?retried$/ },
  })
  t.match(await app.db.em().findOne(BackgroundJob, { id }), { state: 'queued', attempts: 0 })
  const again = (await host.get('/admin')).text
  t.match(
    again,
    /The job nobody\/handles-this fails, and is tried again[\s\S]*The oven is cold\./,
    'until it has passed',
  )
  t.notMatch(again, 'all is well')
  t.match(await host.submit(`/admin/jobs/${id}/retry`, {}), { headers: { location: /^\/admin\/jobs$/ } }, 'once')
})

t.test('an administrator whose platform can not send mail, or has urgent reports, reads it first', async (t) => {
  const mail = { driver: 'smtp', url: 'smtp://localhost:1', from: 'yard@example.org' }
  const platform = await startPlatform(t, { config: { mail } })
  const [host, player] = [await platform.admin(), await platform.signUp()]
  const game = await platform.game(player, { title: 'Pong' })
  const overview = async () => (await host.get('/admin')).text
  // The second letter is about the API token with which the game was made.
  await platform.stranger.submit('/reset-password', { email: player.account.email, returnTo: '' })
  await until(async () => /2 jobs oauth-idp\/letter fail, and are tried again/.test(await overview()))
  t.notMatch(await overview(), /urgent/)
  const report = { target: { kind: 'game', id: game.id }, category: 'malware', text: 'It asks for passwords.' }
  t.equal((await platform.stranger.post('/api/reports', report)).status, 201)
  t.match(await overview(), /An urgent report is open[\s\S]*href="\/admin\/reports"/)
})

t.test('the log is shown as it was written, and the configuration with its secrets masked', async (t) => {
  const tail = new LogTail()
  const log = createLog('info', { write: () => {} }, tail)
  const platform = await startPlatform(t, {
    log,
    logTail: tail,
    config: { metrics: { token: 'a-token-that-nobody-sees' } },
  })
  const host = await platform.admin()
  log.warn({ token: 'svc_api_secret', lamp: 3 }, 'the lamp <flickers>')
  log.error({ err: new Error('out of oil') }, 'the lamp went out')
  const { text } = await host.get('/admin/log')
  t.match(text, 'the lamp &lt;flickers>')
  t.match(text, 'lamp=3')
  t.notMatch(text, 'svc_api_secret')
  t.match((await host.get('/admin/log?level=error')).text, 'out of oil')
  t.notMatch((await host.get('/admin/log?level=error')).text, 'flickers')
  for (let line = 0; line < 1000; line++) log.info({ line }, 'many')
  t.ok(tail.read().length <= 400, 'no more than the last lines are kept')
  t.equal(tail.read()[0]?.line, 999, 'the newest first')

  const config = (await host.get('/admin/config')).text
  t.match(config, /token: &quot;\*{8}&quot;/)
  t.notMatch(config, 'a-token-that-nobody-sees')
  t.match(config, 'dataDir:')
})

t.test('the backup button gives a whole archive and leaves nothing behind; what is kept is counted', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-host-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const platform = await startPlatform(t, { config: { database: { driver: 'sqlite' } } })
  const host = await platform.admin()
  const answer = await platform.app.inject({
    method: 'POST',
    url: '/admin/backup',
    headers: {
      host: new URL(platform.portal).host,
      origin: platform.portal,
      cookie: [...host.cookiesOf()].map(([name, value]) => `${name}=${value}`).join('; '),
    },
  })
  t.match(answer.headers, { 'content-type': 'application/x-tar', 'cache-control': 'no-store' })
  t.match(answer.headers['content-disposition'], /attachment; filename="gameyard-[\d-]+\.tar"/)
  const file = join(folder, 'backup.tar')
  writeFileSync(file, answer.rawPayload)
  const { members } = await verifiedMembers(file, () => true)
  t.ok(members.some(({ name }) => name === 'gameyard.db'))
  const left = () => readdirSync(join(platform.app.config.dataDir, 'copies'))
  await until(() => left().length === 0)
  t.pass('the file is gone once it is sent')

  t.match((await host.get('/admin/storage')).text, 'not counted')
  t.match(await host.submit('/admin/storage/count', {}), { status: 303 })
  t.match((await host.get('/admin/storage')).text, 'Count again')
})

t.test('the host finds any game and suspends it with a reason, and undoes it with one button', async (t) => {
  const platform = await startPlatform(t)
  const host = await platform.admin()
  const maker = await platform.signUp({ name: 'Mo' })
  const game = await platform.game(maker, {
    title: 'Rooftop Relay',
    url: 'https://elsewhere.example',
    visibility: 'private',
  })
  t.match((await host.get('/admin/games?q=roof')).text, /Rooftop Relay.*Mo/s)
  t.match((await host.get(`/admin/games?q=${game.slug}`)).text, 'Rooftop Relay')
  t.match((await host.get('/admin/games?q=cellar')).text, 'Nothing found')
  const path = `/admin/games/${game.id}/suspend`
  t.match(await host.get(path), { status: 200, text: /Suspend Rooftop Relay[\s\S]*A game by <a [^>]*><bdi>Mo</ })
  t.match(await host.submit(path, { reason: ' ' }), { status: 400, text: /Give the reason/ })
  t.equal((await platform.app.games.get(game.id)).suspended, null)
  const gone = await host.submit(path, { reason: 'It copies <another> game.' })
  t.match((await platform.app.games.get(game.id)).suspended, { reason: 'It copies <another> game.' })
  t.match((await host.get('/admin/games')).text, 'It copies &lt;another> game.')
  const undo = /class="flash".*?action="([^"]+)"/s.exec((await host.get(gone.headers.location ?? '')).text)?.[1]
  t.equal(undo, `/admin/games/${game.id}/lift`)
  t.match(await host.submit(undo ?? '', {}), { status: 303 })
  t.equal((await platform.app.games.get(game.id)).suspended, null)
})

t.test(
  'on PostgreSQL the page of the storage names the command for a backup, and has no button',
  needsPostgres,
  async (t) => {
    const url = await (await startPostgres()).database()
    const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
    const platform = await startPlatform(t, { config })
    const { text } = await (await platform.admin()).get('/admin/storage')
    t.notMatch(text, /Download a backup/)
    t.match(text, /gameyard backup gameyard\.tar/)
  },
)
