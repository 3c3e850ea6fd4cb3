// A crash between the storing of a file and the writing of its row, or between the end of a row and of its file, leaves a
// file that nothing refers to. The periodic jobs delete it, and nothing else.
import { createHash } from 'node:crypto'
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { newId } from '../../core/ids.ts'
import type { Storage } from '../../drivers/storage/interface.ts'
import { until } from '../kit/until.ts'
import { png, sendFile } from '../plugins/games/pictures.ts'
import { inhabit } from './access/world.ts'

/** Where no file can be left over, by the first part of its key, and why. */
const NEVER: Record<string, string> = {
  blobs: 'The row is written before the file, and deleted after it.',
  saves: 'As blobs.',
  blender: 'The row of the job is written before its files. A background job deletes all files below its id.',
}

const DAY_MS = 86_400_000

async function keysOf(storage: Storage): Promise<string[]> {
  const keys = []
  for await (const { key } of storage.list('')) keys.push(key)
  return keys.sort()
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')

t.test('files that nothing refers to are deleted a few days later', async (t) => {
  const { platform, owner } = await inhabit(t)
  const { app, clock } = platform
  const now = clock.now()
  t.equal((await sendFile(owner.browser, '/settings/picture', png(40, 40))).status, 303)
  t.equal((await sendFile(owner.browser, `/api/games/${owner.game.id}/media`, png(4, 4))).status, 201)
  const save = { bytes: Buffer.from(JSON.stringify('x'.repeat(20_000))), contentType: 'application/json' }
  await app.saves.put({ gameId: owner.game.id, playerId: owner.browser.id }, 'slot', save)

  const stored = await keysOf(app.storage)
  const places = [...new Set(stored.map((key) => key.split('/', 1)[0] as string))]
  t.same(places, ['assets', 'avatars', 'blobs', 'games', 'saves'], 'the world has a file of each kind')
  // The same keys with other ids and digests: of things that are gone, and of others of the same thing.
  const left = stored.flatMap((key) => {
    const [, id] = key.match(/\b([a-z]{3})_[0-9A-Z]{26}\b/) ?? []
    const other = key.replace(/\b([a-z]{3})_[0-9A-Z]{26}\b/, (_all, kind) => newId(kind, now))
    const renamed = key.replace(/\b[0-9a-f]{64}\b/, (digest) => digestOf(digest))
    return [...(id ? [other] : []), ...(renamed === key ? [] : [renamed])]
  })
  left.push(`uploads/${newId('dep', now)}/${digestOf('upload')}`)
  const bytes = Buffer.from('left over')
  const expected = { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
  for (const key of left) await app.storage.put(key, Readable.from([bytes]), expected)
  const swept = left.filter((key) => !((key.split('/', 1)[0] as string) in NEVER))
  t.ok(swept.length > 6, 'there are some', { swept })

  // The clock of the platform is not that of the disk.
  for (const { parentPath, name } of readdirSync(app.config.dataDir, { recursive: true, withFileTypes: true }))
    utimesSync(join(parentPath, name), now, now)
  clock.advance(3 * DAY_MS)
  const remaining = async () => (await keysOf(app.storage)).filter((key) => swept.includes(key))
  await until(async () => (await remaining()).length === 0, 15).catch(() => {})
  t.same(await remaining(), [], 'what nothing refers to goes')
  const keys = await keysOf(app.storage)
  t.same(
    stored.filter((key) => !keys.includes(key)),
    [],
    'what is used stays',
  )
})
