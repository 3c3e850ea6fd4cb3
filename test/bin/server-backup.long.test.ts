// Backups of a platform on PostgreSQL and S3: made on a schedule while it is used, and restored into both forms.
import { renameSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import { stringify } from 'yaml'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { ask, publishAt } from '../kit/remote-game.ts'
import { freePort, startServer } from '../kit/server.ts'
import { startSwift, swiftMissing } from '../kit/swift.ts'
import { until } from '../kit/until.ts'
import { run, start, temporaryFolder } from './program.ts'

const SECRET = 'one that is long enough for anybody'

t.test(
  'a scheduled backup of PostgreSQL and S3 plays again, there and on one machine',
  {
    skip: needsPostgres.skip || swiftMissing(),
  },
  async (t) => {
    const swift = await startSwift()
    t.teardown(swift.stop)
    const { endpoint, region, accessKeyId, secretAccessKey } = swift
    const access = { driver: 's3', endpoint, region, forcePathStyle: true, accessKeyId, secretAccessKey }
    for (const bucket of ['games', 'again', 'backups']) await swift.createBucket(bucket)
    const postgres = await startPostgres()
    const cwd = temporaryFolder(t)
    const port = await freePort()
    const common = { secret: SECRET, listen: { port }, blender: { driver: 'none' } }
    const cluster = async (bucket: string) => ({
      ...common,
      database: { driver: 'postgres', url: await postgres.database() },
      storage: { ...access, bucket },
    })
    const config = await cluster('games')
    const first = await startServer(t, { folder: cwd, port, config })
    const big = 'x'.repeat(20_000_000)
    const { slug, cookie } = await publishAt(first.portal, { 'index.html': '<title>Pong</title>', 'big.bin': big })
    await first.stop()

    // It was due before this start.
    const to = { ...access, bucket: 'backups' }
    const server = await startServer(t, {
      folder: cwd,
      port,
      config: { ...config, backup: { schedule: '0 4 * * *', to } },
    })
    await until(() => /backup made and verified|scheduled backup failed/.test(server.output()))
    t.match(server.output(), /backup made and verified/)
    await server.stop()
    const client = new S3Client({
      endpoint,
      region,
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
    })
    t.teardown(() => client.destroy())
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: 'backups' }))
    t.match(Contents, [{ Key: /^gameyard-\d{8}T\d{6}Z\.tar$/ }])
    const { Body } = await client.send(new GetObjectCommand({ Bucket: 'backups', Key: Contents[0]?.Key ?? '' }))
    await writeFile(join(cwd, 'copy.tar'), (await Body?.transformToByteArray()) ?? '')

    renameSync(join(cwd, 'data'), join(cwd, 'before'))
    const forms = { 'another cluster': await cluster('again'), 'one machine': { ...common, dataDir: './single' } }
    for (const [name, target] of Object.entries(forms)) {
      writeFileSync(join(cwd, 'gameyard.yaml'), stringify(target))
      const restored = await run(t, ['restore', 'copy.tar'], { cwd })
      t.match(restored, { code: 0, stdout: /^Restored / }, name)
      const again = start(t, ['serve'], { cwd })
      await again.says('"ready"')
      t.match((await ask(port, `http://${slug}.localhost:${port}/`)).body, /<title>Pong/, name)
      t.equal((await ask(port, `http://${slug}.localhost:${port}/big.bin`)).body.length, big.length, name)
      const session = await ask(port, `http://localhost:${port}/api/auth/session`, { cookie })
      t.match(JSON.parse(session.body), { user: { name: 'Maker' } }, 'whoever was signed in still is')
      again.process.kill('SIGTERM')
      t.equal((await again.ended).code, 0)
    }

    await t.test('and never over something', async (t) => {
      writeFileSync(join(cwd, 'gameyard.yaml'), stringify({ ...forms['another cluster'], dataDir: './other' }))
      t.match(await run(t, ['restore', 'copy.tar'], { cwd }), {
        code: 1,
        stderr: /The target's database is not empty: .*\n$/,
      })
    })
  },
)
