import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import { stringify } from 'yaml'
import { inFull } from '../kit/extent.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { startBucketServer } from '../kit/s3rver.ts'
import { freePort } from '../kit/server.ts'
import { deployPage, signUp, tokenOf } from '../system/cluster-players.ts'
import { run, start, temporaryFolder } from './program.ts'

t.test('a backup of a running platform is restored into a new folder, and runs', async (t) => {
  const cwd = temporaryFolder(t)
  const server = start(t, ['serve', '--port', '0'], { cwd })
  await server.says('"ready"')
  t.match(await run(t, ['backup', 'copy.tar'], { cwd }), {
    code: 0,
    stdout: /^Wrote copy\.tar: the database, the keys and \d+ blobs/,
  })
  t.match(await run(t, ['backup', 'data/blobs/copy.tar'], { cwd }), {
    code: 1,
    stderr: /blobs\/copy\.tar is in the data folder, .* below \S+data\/backups\.\n$/,
  })
  t.same(readdirSync(cwd).sort(), ['copy.tar', 'data'], 'nothing else is left')
  await inFull(t)?.test('a file that exists is refused', async (t) => {
    t.match(await run(t, ['backup', 'copy.tar'], { cwd }), {
      code: 1,
      stderr: /copy\.tar exists; choose another name\.\n$/,
    })
  })
  server.process.kill('SIGTERM')
  t.equal((await server.ended).code, 0)

  await inFull(t)?.test('a folder that is not empty is refused', async (t) => {
    t.match(await run(t, ['restore', 'copy.tar'], { cwd }), { code: 1, stderr: /data is not empty/ })
  })
  const { code, stdout } = await run(t, ['restore', 'copy.tar', '--data', 'again', '--json'], { cwd })
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { dataDir: join(cwd, 'again'), blobs: Number, bytes: Number })
  const secret = (folder: string) => readFileSync(join(cwd, folder, 'keys/secret'))
  t.strictSame(secret('again'), secret('data'))
  const tables = (folder: string) => {
    const database = new DatabaseSync(join(cwd, folder, 'gameyard.db'), { readOnly: true })
    const names = database.prepare("select name from sqlite_master where type = 'table' order by name").all()
    database.close()
    return names.map(({ name }) => name)
  }
  t.ok(tables('data').length > 0)
  t.strictSame(tables('again'), tables('data'))

  const newer = new DatabaseSync(join(cwd, 'data/gameyard.db'))
  newer.exec("insert into schema_migrations (name, applied_at) values ('2999_01_01_later', 0)")
  newer.close()
  const unknown =
    /holds the migration 2999_01_01_later, which this program doesn't know\. Start that version, [^\n]*\n$/
  t.match(await run(t, ['backup', 'newer.tar'], { cwd }), { code: 0 })
  t.match(await run(t, ['restore', 'newer.tar', '--data', 'newer'], { cwd }), { code: 1, stderr: unknown })
  const back = ['restore', '--database', 'data/gameyard.db', '--data', 'again']
  t.match(await run(t, back, { cwd }), { code: 1, stderr: unknown })
  t.same(readdirSync(cwd).sort(), ['again', 'copy.tar', 'data', 'newer.tar'], 'nothing is restored')
  t.same(
    readdirSync(join(cwd, 'again')).filter((name) => /restored|backups/.test(name)),
    [],
    'and nothing is replaced',
  )

  const revived = start(t, ['serve', '--port', '0', '--data', 'again'], { cwd })
  await revived.says('"ready"')
})

t.test('a backup holds PostgreSQL and a bucket, and restores into a folder', needsPostgres, async (t) => {
  const cwd = temporaryFolder(t)
  const bucket = await startBucketServer(['games'])
  t.teardown(bucket.close)
  const requests: string[] = []
  const watched = createServer((request, response) => {
    const { method, url, headers } = request
    requests.push(`${method} ${url}`)
    const onward = httpRequest({ port: bucket.port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(watched, 'listening')
  t.teardown(() => watched.close())
  const endpoint = `http://127.0.0.1:${(watched.address() as AddressInfo).port}`
  const access = { ...bucket.access, endpoint, bucket: 'games' }
  const { accessKeyId, secretAccessKey, ...rest } = bucket.access
  const client = new S3Client({ ...rest, credentials: { accessKeyId, secretAccessKey } })
  await client.send(new PutObjectCommand({ Bucket: 'games', Key: 'blobs/one', Body: 'one' }))
  client.destroy()
  const config = {
    secret: 'one that is long enough for anybody',
    dataDir: './node',
    database: { driver: 'postgres', url: await (await startPostgres()).database() },
    storage: { driver: 's3', ...access },
  }
  writeFileSync(join(cwd, 'gameyard.yaml'), stringify(config))
  writeFileSync(join(cwd, 'single.yaml'), stringify({ secret: config.secret }))
  const admin = start(t, ['admin', 'create', '--email', 'host@example.org', '--name', 'Host'], { cwd })
  admin.process.stdin?.end('correct yard battery fence\n')
  t.equal((await admin.ended).code, 0, admin.output().stderr)

  const made = await run(t, ['backup', 'copy.tar', '--verify'], { cwd })
  t.match(made, { code: 0, stdout: /^Wrote copy\.tar: the database, the keys and 1 blob, / }, made.stderr)
  t.ok(requests.includes('GET /games/blobs/one?x-id=GetObject'))
  t.same(
    requests.filter((request) => /^(?!GET).* \/games\/blobs/.test(request)),
    [],
    'the test of the backup does not touch the bucket',
  )
  t.same(readdirSync(cwd).sort(), ['copy.tar', 'gameyard.yaml', 'node', 'single.yaml'], 'nothing else is left')
  t.match(await run(t, ['restore', 'copy.tar', '--config', 'single.yaml'], { cwd }), { code: 0 })
  t.equal(readFileSync(join(cwd, 'data/blobs/blobs/one'), 'utf8'), 'one')
  const database = new DatabaseSync(join(cwd, 'data/gameyard.db'), { readOnly: true })
  t.same(database.prepare('select email from players').all(), [{ email: 'host@example.org' }])
  database.close()
})

t.test('what cannot be backed up or restored is one sentence', async (t) => {
  const cwd = temporaryFolder(t)
  t.match(await run(t, ['backup', 'copy.tar'], { cwd }), {
    code: 1,
    stderr: /^There is no platform with its data in \S+\. Name [^\n]*\n$/,
  })
  t.notOk(existsSync(join(cwd, 'copy.tar')))
  writeFileSync(join(cwd, 'no.tar'), 'not a backup')
  t.match(await run(t, ['restore', 'no.tar'], { cwd }), { code: 1, stderr: /^[^\n]+\n$/ })
  symlinkSync('nowhere', join(cwd, 'link'))
  const refused: [string[], RegExp][] = [
    [['gone.tar'], /^There is no file gone\.tar; name one that `gameyard backup` wrote\.\n$/],
    [['link'], /^link is a link that leads nowhere; name one that `gameyard backup` wrote\.\n$/],
    [['.'], /^\. is a folder, and no backup; name one that `gameyard backup` wrote\.\n$/],
    [['no.tar', '--data', 'link'], /^\S+\/link is a link that leads nowhere; create the folder that it names\.\n$/],
    [
      ['no.tar', '--data', 'link/data'],
      /^The folder \S+\/link can't be made \(it is a link that leads nowhere\): [^\n]+\n$/,
    ],
    [['no.tar', '--data', 'no.tar/data'], /^The folder \S+\/no\.tar can't be made \(a file is in the way\): [^\n]+\n$/],
  ]
  for (const [words, stderr] of refused)
    t.match(await run(t, ['restore', ...words], { cwd }), { code: 1, stderr }, words.join(' '))
  t.same(readdirSync(cwd).sort(), ['link', 'no.tar'], 'nothing is made')
  await inFull(t)?.test('and a command without its argument is wrong usage', async (t) => {
    t.equal((await run(t, ['backup'], { cwd })).code, 2)
  })
})

inFull(t)?.test('a restored platform has the saves and the scores of its players', async (t) => {
  const cwd = temporaryFolder(t)
  // The port is part of the game's address, to which a player's session is bound.
  const port = await freePort()
  const portal = `http://localhost:${port}`
  const game = `http://pong.localhost:${port}`
  const server = start(t, ['serve', '--port', String(port)], { cwd })
  await server.says('"ready"')
  const player = await signUp(portal, 'Ada')
  const token = await tokenOf(player, portal, ['games:read', 'games:write', 'deployments:write'])
  const made = await deployPage(portal, token, 'Pong', '<!doctype html>')
  await player.request('PUT', `${portal}/api/games/${made.game.id}/boards/laps`, { title: 'Laps' })
  await player.follow(`${game}/auth/service/start`)
  const saved = { small: { level: 1 }, large: { text: 'x'.repeat(40_000) } }
  for (const [key, value] of Object.entries(saved)) {
    for (const version of [1, 2]) {
      const answer = await player.request('PUT', `${game}/__service/saves/${key}`, { ...value, version })
      t.match(answer.body, { version })
    }
  }
  t.match((await player.post(`${game}/__service/scores/laps`, { score: 7 })).body, { rank: 1 })
  const read = async () => {
    const paths = ['saves', 'saves/small', 'saves/large', 'saves/large/versions', 'scores/laps']
    return Promise.all(paths.map(async (path) => (await player.get(`${game}/__service/${path}`)).body))
  }
  const before = await read()
  t.match(before, [{ saves: { length: 2 } }, { version: 2, level: 1 }, { text: /^x{40000}$/ }, {}, { total: 1 }])
  t.equal((await run(t, ['backup', 'copy.tar'], { cwd })).code, 0)
  server.process.kill('SIGTERM')
  await server.ended

  t.equal((await run(t, ['restore', 'copy.tar', '--data', 'again'], { cwd })).code, 0)
  const revived = start(t, ['serve', '--port', String(port), '--data', 'again'], { cwd })
  await revived.says('"ready"')
  t.same(await read(), before)
  const next = await player.request('PUT', `${game}/__service/saves/large`, {})
  t.match(next.body, { version: 3 }, 'and goes on')
})
