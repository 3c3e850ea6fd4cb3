// A platform with every feature used is moved to PostgreSQL and a bucket, and back.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { schemaOf } from '../../core/boot/database.ts'
import postgres from '../../drivers/database/postgres.ts'
import sqlite from '../../drivers/database/sqlite.ts'
import local from '../../drivers/storage/local.ts'
import s3 from '../../drivers/storage/s3.ts'
import { plugins } from '../../plugins/index.ts'
import { movePlaces, SECRET, type TestPlace } from '../core/data/moving/places.ts'
import { driverContext } from '../kit/driver-context.ts'
import { Client, type Platform, startPlatform } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { startBucketServer } from '../kit/s3rver.ts'
import { openShowcase } from '../kit/showcase.ts'
import { LEGAL } from '../kit/showcase-contents.ts'
import { timeLimit } from '../kit/time-limit.ts'

t.setTimeout(timeLimit(600))

const PAGES = [
  '/',
  '/catalog',
  '/assets',
  '/games',
  '/messages',
  '/settings',
  '/settings/tokens',
  '/settings/credits',
  '/settings/storage',
  '/settings/saves',
  '/settings/messages',
  '/settings/connections',
  '/blender',
  '/admin/players',
  '/admin/games',
  '/admin/assets',
  '/admin/reports',
  '/admin/audit',
  '/admin/audit.jsonl',
  '/admin/approvals',
  '/admin/domains',
  '/settings/export',
  '/api/usage',
  '/api/games',
  '/api/tokens',
]
const OF_A_GAME = ['', '/deploys', '/settings', '/settings/domains', '/players', '/scores', '/integrate']

/** These have JSON of columns, in which PostgreSQL does not keep the order of keys. */
const JSON_LINES = /export$|\.jsonl$|^\/api\//

/** Sorts the keys of JSON. @param perLine whether each line is JSON of its own */
function sortedJson(text: string, perLine: boolean): string {
  const sorted = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(sorted)
      : value && typeof value === 'object'
        ? Object.fromEntries(
            Object.entries(value)
              .toSorted(([one], [other]) => (one < other ? -1 : 1))
              .map(([key, item]) => [key, sorted(item)]),
          )
        : value
  const parse = (line: string) => JSON.stringify(sorted(JSON.parse(line)))
  return perLine ? text.trim().split('\n').map(parse).join('\n') : parse(text)
}

/** Returns what a player reads, without what differs between two starts: the port, and pictures that have it in them. */
async function readAll(
  platform: Platform,
  cookies: Map<string, string>,
  slug: string,
): Promise<Record<string, string>> {
  const client = new Client(platform.app)
  const { port } = new URL(platform.portal)
  // The names of cookies end with the port of their server.
  for (const [name, value] of cookies) client.cookiesOf().set(name.replace(/\d+$/, port), value)
  const found: Record<string, string> = {}
  const comparable = (text: string) =>
    text
      // Links for assistants carry the address in other codings.
      .replaceAll(encodeURIComponent(`:${port}`), ':PORT')
      .replaceAll(/config=[\w%]+/g, (link) => Buffer.from(decodeURIComponent(link.slice(7)), 'base64').toString())
      // So do the names of cookies.
      .replaceAll(`_${port}"`, '_PORT"')
      // A number of JSON that happens to be the port stays.
      .replaceAll(new RegExp(`(?<=\\w):${port}\\b`, 'g'), ':PORT')
      // A label may cut the port.
      .replaceAll(/(?<=localhost):\d*…/g, ':PORT…')
      // A QR code has the port in its squares.
      .replaceAll(/(<svg class="qr").*?<\/svg>/g, '$1')
      .replaceAll(/card\.png\?v=[\w-]+/g, 'card.png')
  for (const path of [...PAGES, ...OF_A_GAME.map((rest) => `/games/${slug}${rest}`)]) {
    const { status, text } = await client.get(path)
    found[path] = `${status} ${comparable(JSON_LINES.test(path) ? sortedJson(text, path.endsWith('.jsonl')) : text)}`
  }
  const { status, text } = await platform.stranger.get('/', { host: platform.gameHost(slug) })
  found.game = `${status} ${comparable(text)}`
  return found
}

function folderPlace(t: Test): TestPlace {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-showcase-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const context = driverContext({ dataDir })
  return {
    dataDir,
    secret: SECRET,
    database: () => sqlite.create({ file: 'gameyard.db', durability: 'normal', busyTimeout: 5000 }, context),
    storage: () => local.create({ path: 'blobs', reserveBytes: 0 }, context),
  }
}

async function cloudPlace(t: Test) {
  const server = await startBucketServer(['moved'])
  t.teardown(server.close)
  const url = await (await startPostgres()).database()
  const bucket = { ...server.access, bucket: 'moved', prefix: '' }
  const { dataDir } = folderPlace(t)
  const context = driverContext({ dataDir })
  const place: TestPlace = {
    dataDir,
    secret: SECRET,
    database: () => postgres.create({ url, poolSize: 4, ssl: 'off' }, context),
    storage: () => s3.create(bucket, context),
  }
  return { place, config: { database: { driver: 'postgres', url }, storage: { driver: 's3', ...bucket } } }
}

t.test(
  'every page and export is the same after a move to PostgreSQL and a bucket, and after the way back',
  {
    ...needsPostgres,
  },
  async (t) => {
    const first = folderPlace(t)
    const inFolder = { database: { driver: 'sqlite', file: 'gameyard.db' } }
    const { platform, host, slug } = await openShowcase(t, { ...inFolder, dataDir: first.dataDir, secret: SECRET })
    const cookies = new Map(host.cookiesOf())
    const now = platform.clock.now().getTime()
    const before = await readAll(platform, cookies, slug)
    const working = Object.entries(before).filter(([, text]) => text.startsWith('200'))
    t.ok(working.length > 20, `${working.length} of ${Object.keys(before).length} pages are there`)
    await platform.app.close()

    const restarted = async (dataDir: string, config: Record<string, unknown>) => {
      const again = await startPlatform(t, {
        listen: true,
        config: { dataDir, secret: SECRET, portal: { designPage: true, legal: LEGAL }, ...config },
      })
      again.clock.advance(now - again.clock.now().getTime())
      const pages = await readAll(again, cookies, slug)
      await again.app.close()
      return pages
    }
    const schema = schemaOf(plugins)
    const { place: cloud, config } = await cloudPlace(t)
    const { rows, blobs } = await movePlaces(first, cloud, schema)
    t.ok(rows > 500 && blobs > 20, `${rows} rows and ${blobs} blobs`)
    const last = folderPlace(t)
    t.match(await movePlaces(cloud, last, schema), { rows, blobs }, 'the way back')
    for (const [where, after] of [
      ['back', await restarted(last.dataDir, inFolder)],
      ['there', await restarted(cloud.dataDir, config)],
    ] as const)
      for (const [path, text] of Object.entries(before)) t.equal(after[path], text, `${path} is the same ${where}`)
  },
)
