import { mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { scheduleBackups } from '../../bin/scheduled-backups.ts'
import { loadConfig } from '../../config/load.ts'
import { families } from '../../drivers/index.ts'
import { inFull } from '../kit/extent.ts'
import { startKernel } from '../kit/kernel.ts'
import { startBucketServer } from '../kit/s3rver.ts'
import { startServer } from '../kit/server.ts'
import { until } from '../kit/until.ts'
import { ask, deployFolder, program } from '../kit/upload.ts'
import { run, start } from './program.ts'

const PASSWORD = 'correct yard battery fence'

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-backups-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const finished = (folder: string) =>
  readdirSync(folder)
    .filter((name) => /^gameyard-.*\.tar$/.test(name))
    .sort()

async function developer(portal: string, email: string) {
  const headers = { origin: portal }
  const account = { name: 'Ada', email, password: PASSWORD }
  const made = await ask('POST', `${portal}/api/auth/sign-up`, { headers, body: account })
  const cookie = [made.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0] ?? ''
  const scopes = ['games:read', 'games:write', 'deployments:write', 'assets:read', 'assets:write', 'ai:generate']
  const { body } = await ask('POST', `${portal}/api/tokens`, {
    headers: { ...headers, cookie },
    body: { label: 'test', scopes },
  })
  return { token: body.token as string, cookie, ...program(portal, body.token) }
}

t.test('a backup is made by itself under load, checked and kept, and restores to the whole platform', async (t) => {
  const folder = folderOf(t)
  const backups = join(folder, 'backups')
  mkdirSync(backups)
  const old = ['gameyard-20200101T033000Z.tar', 'gameyard-20200102T033000Z.tar', 'notes.txt']
  for (const name of old) writeFileSync(join(backups, name), '')
  const config = { backup: { schedule: '30 3 * * *', keep: 2 }, limits: { rateLimits: false, gamesPerPlayer: 100_000 } }
  // Backups run some seconds after the start, so their data must exist before that.
  const first = await startServer(t, { folder, config: { limits: config.limits } })
  const { portal, port } = first
  const { token, cookie, get, post } = await developer(portal, 'ada@example.org')
  const game = (await post('/api/games', { title: 'Duo', description: 'Two dots.' })).body
  const site = t.testdir({ 'index.html': '<title>Duo</title>', 'data.bin': 'x'.repeat(200_000) })
  await deployFolder(portal, token, game.id, site)
  const { balance } = (await get('/api/ai/credits')).body

  await first.stop()
  const server = await startServer(t, { folder, port, config })

  const acknowledged = [{ slug: game.slug as string, at: Date.parse(game.createdAt) }]
  let over = false
  const load = (async () => {
    for (let count = 0; !over; count++) {
      const answer = await post('/api/games', { title: `Load ${count}`, description: 'Made meanwhile.' })
      if (answer.status === 201) acknowledged.push({ slug: answer.body.slug, at: Date.now() })
      else throw new Error(`load: ${answer.status}`)
      await sleep(20)
    }
  })()
  const name = await until(() => finished(backups).find((each) => !old.includes(each)))
  await until(() => !finished(backups).includes(old[0] ?? ''))
  over = true
  await load
  t.same(finished(backups), [old[1], name], 'as many as are to be kept')
  t.ok(readdirSync(backups).includes('notes.txt'), 'what is no backup is left alone')
  await until(() => server.output().includes('backup made and verified'))
  t.match((await ask('GET', `${portal}/readyz`)).body, { status: 'ready', details: { backup: 'ok' } })
  t.match((await ask('GET', `${portal}/metrics`)).body, /gameyard_backup_last_success_timestamp_seconds [1-9]/)
  await server.stop()

  // In the short form, backup.test.ts restores one.
  await inFull(t)?.test('and it restores', async (t) => {
    const again = folderOf(t)
    const restored = await run(t, ['restore', join(backups, name), '--data', join(again, 'data')], { cwd: again })
    t.match(restored, { code: 0, stdout: /^Restored / })
    const revived = await startServer(t, { folder: again })
    const { get: getAgain } = program(revived.portal, token)
    const stamp = name.replace(/^.*-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, '$1-$2-$3T$4:$5:$6Z')
    const before = acknowledged.filter(({ at }) => at < Date.parse(stamp)).map(({ slug }) => slug)
    const slugs = new Set<string>()
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await getAgain(`/api/games?limit=100${cursor ? `&cursor=${cursor}` : ''}`)
      for (const { slug } of body.games) slugs.add(slug)
      cursor = body.nextCursor
    }
    t.ok(before.length > 0, `${before.length} of ${acknowledged.length} games were there when it began`)
    t.same(
      before.filter((slug) => !slugs.has(slug)),
      [],
      'every one of them is there again',
    )
    t.match(await getAgain('/api/ai/credits'), { status: 200, body: { balance } })
    const page = await ask('GET', `http://duo.localhost:${revived.port}/data.bin`)
    t.equal(page.status, 200)
    t.equal(page.body.length, 200_000, 'the game plays')
    // On http the name of the cookie contains the port. The session itself is still valid.
    const renamed = cookie.replace(`_${port}=`, `_${revived.port}=`)
    const session = await ask('GET', `${revived.portal}/api/auth/session`, { headers: { cookie: renamed } })
    t.match(session.body, { user: { name: 'Ada' } }, 'and who was signed in still is')
  })
})

t.test('one that fails is told to the administrators and to the host, and keeps nobody from playing', async (t) => {
  const folder = folderOf(t)
  writeFileSync(join(folder, 'taken'), 'a file where a folder should be')
  writeFileSync(join(folder, 'gameyard.yaml'), stringify({ backup: { schedule: '0 4 * * *', to: './taken/backups' } }))
  const admin = start(t, ['admin', 'create', '--email', 'host@example.org', '--name', 'Host'], { cwd: folder })
  admin.process.stdin?.end(`${PASSWORD}\n`)
  t.equal((await admin.ended).code, 0)
  const server = await startServer(t, {
    folder,
    config: { backup: { schedule: '0 4 * * *', to: './taken/backups' } },
  })
  await until(() => /"subject":"A backup of Gameyard failed"/.test(server.output()))
  t.match(server.output(), /"to":"host@example\.org"/)
  t.match(server.output(), /The scheduled backup failed: [^\n"]+/)
  const { status, body } = await ask('GET', `${server.portal}/readyz`)
  t.match({ status, body }, { status: 200, body: { status: 'ready', details: { backup: 'warning' } } })
  t.notMatch(JSON.stringify(body), /taken/, 'strangers learn no folder')
})

/** Schedules backups in a kernel of this process, with a program that writes a file. */
async function schedule(t: Test, folder: string, to: unknown) {
  const app = await startKernel(t)
  const loaded = await loadConfig({ cwd: folder, env: {}, families, plugins: [] })
  Object.assign(loaded.config, { dataDir: join(folder, 'data') })
  Object.assign(loaded.config.backup, { schedule: '0 4 * * *', to })
  const program = `require('node:fs').writeFileSync(process.argv[1], ''); console.log('{"blobs":1,"bytes":1}')`
  await scheduleBackups(app, loaded, (file) => [process.execPath, '-e', program, file])
  return app
}

t.test('what interrupted backups left is removed before the next one', async (t) => {
  const folder = folderOf(t)
  const remains = ['gameyard-20200101T033000Z.tar.unverified', 'gameyard-20200101T033000Z.tar.unverified-a1B2c3/x']
  remains.push('gameyard-20200102T033000Z.tar-a1B2c3/backup.tar')
  const own = ['gameyard-20200101T033000Z.tar.gpg', 'gameyard-20200102T033000Z.tar', 'notes.txt']
  for (const name of [...remains, '.gameyard-20200101T033000Z.tar-a1B2c3/data/x', ...own]) {
    mkdirSync(dirname(join(folder, 'backups', name)), { recursive: true })
    writeFileSync(join(folder, 'backups', name), '')
  }
  const app = await schedule(t, folder, './backups')
  await until(() => app.health.notes.get('backup')?.state === 'ok')
  const left = readdirSync(join(folder, 'backups')).sort()
  t.same(
    left.filter((name) => !finished(join(folder, 'backups')).slice(1).includes(name)),
    own,
  )
  t.equal(left.length, own.length + 1)
})

t.test('a bucket that cannot be reached does not keep the platform from starting', async (t) => {
  const access = { endpoint: 'http://127.0.0.1:1', region: 'x', accessKeyId: 'x', secretAccessKey: 'x' }
  const to = { driver: 's3', ...access, bucket: 'backups', prefix: '', forcePathStyle: true }
  const app = await schedule(t, folderOf(t), to)
  t.match(app.health.notes.get('backup'), { state: 'warning', message: /can’t be used: .*ECONNREFUSED/ })
})

t.test('a folder that cannot be made does not keep the platform from starting', async (t) => {
  const folder = folderOf(t)
  writeFileSync(join(folder, 'file'), '')
  const causes: [string, RegExp][] = [['./file/backups', /The folder \S+\/file can't be made \(a file is in the way\)/]]
  if (process.platform === 'linux')
    causes.push(['/proc/nope', /\/proc\/nope can't be made \(the system makes no folders/])
  for (const [to, message] of causes) {
    const app = await schedule(t, folder, to)
    t.match(app.health.notes.get('backup'), { state: 'warning', message }, to)
    await app.close()
  }
})

inFull(t)?.test('a bucket takes backups as well', async (t) => {
  const folder = folderOf(t)
  const bucket = await startBucketServer(['backups'])
  t.teardown(bucket.close)
  const to = { driver: 's3', ...bucket.access, bucket: 'backups', prefix: 'yard/' }
  mkdirSync(join(folder, 'data/backup-under-way'), { recursive: true })
  writeFileSync(join(folder, 'data/backup-under-way/gameyard-20200101T033000Z.tar'), 'of an interrupted upload')
  const server = await startServer(t, { folder, config: { backup: { schedule: '0 4 * * *', to } } })
  await until(() => server.output().includes('backup made and verified'))
  t.ok(
    readdirSync(join(bucket.directory, 'backups'), { recursive: true }).some((name) =>
      /yard\/gameyard-.*\.tar/.test(String(name)),
    ),
  )
  t.same(readdirSync(join(folder, 'data/backup-under-way')), [], 'nothing of it stays on the disk')
})

inFull(t)?.test('a backup of a damaged database does not count; nor does a schedule that is none', async (t) => {
  const cwd = folderOf(t)
  const server = await startServer(t, { folder: cwd })
  await server.stop()
  const database = openSync(join(cwd, 'data/gameyard.db'), 'r+')
  writeSync(database, Buffer.alloc(8192, 0xa5), 0, 8192, 4096 * 4)
  t.match(await run(t, ['backup', 'yard.tar', '--verify'], { cwd }), {
    code: 1,
    stderr: /\nThe database is damaged \(.+\): restore an earlier backup\.\n$/,
  })
  t.same(finished(cwd), [])
  t.same(readdirSync(cwd).sort(), ['data', 'gameyard.yaml'], 'nothing is left')

  const env = { SERVICE_BACKUP__SCHEDULE: '99 3 * * *', SERVICE_LOG__LEVEL: 'silent' }
  t.match(await run(t, ['serve', '--port', '0', '--data', 'other'], { cwd, env }), {
    code: 1,
    stderr: /^SERVICE_BACKUP__SCHEDULE +backup\.schedule: [^\n]+\n$/,
  })
})
