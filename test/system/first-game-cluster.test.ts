import t from 'tap'
import { openBrowser } from '../kit/browser.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { needsRedis, startRedis } from '../kit/redis.ts'
import { startServer } from '../kit/server.ts'
import { startSwift, swiftMissing } from '../kit/swift.ts'
import { playFirstGame } from './first-game-story.ts'

const missing = needsPostgres.skip || needsRedis.skip || (process.env.CI === 'true' ? false : swiftMissing())

t.test('the same story on PostgreSQL, S3 and Redis', { skip: missing }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const swift = await startSwift()
  t.teardown(swift.stop)
  await swift.createBucket('gameyard')
  const { endpoint, region, accessKeyId, secretAccessKey } = swift
  const server = await startServer(t, {
    config: {
      secret: 'the same on every node, and long enough',
      database: { driver: 'postgres', url: await (await startPostgres()).database() },
      storage: {
        ...{ driver: 's3', endpoint, region, bucket: 'gameyard', forcePathStyle: true },
        ...{ accessKeyId, secretAccessKey },
      },
      bus: { driver: 'redis', url: (await startRedis(t)).url },
    },
  })
  await playFirstGame(t, browser, server)
  t.equal(await server.stop(), 0, 'it stops when told to')
})
