// Tests kill -9 during uploads and their processing: no acknowledged data is lost, and no partial data remains.
import { createHash } from 'node:crypto'
import { type Dirent, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { validateBytes } from 'gltf-validator'
import t from 'tap'
import { amount } from '../../kit/extent.ts'
import { makeToken } from '../../kit/remote-sign-up.ts'
import { type Server, startServer } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { ask } from '../../kit/upload.ts'
import { form } from './kit.ts'
import { sheet } from './models.ts'

/** The number of times that the server is killed. */
const KILLS = amount(1, 10)
/** The maximum number of uploads per cycle on each of two connections. */
const UPLOADS = 5

t.setTimeout(timeLimit(480 + KILLS * 40))

interface Made {
  id: string
  files: { sha256: string; size: number }[]
  variants: { source: { size: number }; lod?: { size: number; triangles: number } }
}

t.test(`kill -9 at ${KILLS} moments of uploads and preparation`, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-assets-kill-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const options = { folder, config: { limits: { rateLimits: false }, blender: { driver: 'none' } } }
  let server: Server = await startServer(t, options)
  const authorization = `Bearer ${await makeToken(server.portal, ['assets:read', 'assets:write'])}`
  // The models are so large that a simplified variant pays off, and that its creation can be interrupted.
  const models = await Promise.all([40, 60, 80].map((size, index) => sheet(size, { name: `sheet ${index}` })))
  const acknowledged: string[] = []
  let lost = 0
  for (let cycle = 1; cycle <= KILLS; cycle++) {
    let dead = false
    const before = acknowledged.length
    const { portal } = server
    // A fast machine is done with its uploads sooner. Then the kill interrupts the last one.
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const uploading = [0, 1].map(async (lane) => {
      for (let turn = lane; !dead && turn < UPLOADS; turn++) {
        const { payload, headers } = form(models[turn % models.length] as Buffer, { visibility: 'public' })
        const sent = { headers: { authorization, ...headers }, body: payload }
        if (turn === UPLOADS - 1) begin()
        const answer = await ask('POST', `${portal}/api/assets`, sent).catch(() => null)
        if (answer?.status === 201) acknowledged.push(answer.body.id)
        else if (!dead) throw new Error(`An upload was answered ${answer?.status}.`)
        else lost++
      }
    })
    // Every other cycle waits for an acknowledgement, however slow the machine, so that the kill interrupts the
    // processing.
    if (cycle % 2 === 0) while (acknowledged.length === before) await sleep(5)
    await Promise.race([begun, sleep(Math.random() * 1500)])
    dead = true
    await server.stop('SIGKILL')
    await Promise.all(uploading)
    const uploads = join(folder, 'data', 'uploads')
    const halves = readdirSync(uploads)
    server = await startServer(t, options)
    // Resumed jobs have files of their own there.
    const now = new Set(readdirSync(uploads))
    t.same(
      halves.filter((name) => now.has(name)),
      [],
      `cycle ${cycle}: none of ${halves.length} half received files stays`,
    )
    // A background job is abandoned when its process has died several times; here each job's process dies once.
    for (const id of acknowledged.slice(before)) await prepared(server.portal, id)
  }
  t.ok(acknowledged.length >= Math.floor(KILLS / 2) && lost > 0, 'some were acknowledged, some were cut off')
  t.comment(`${acknowledged.length} uploads acknowledged, ${lost} cut off`)

  const assets = await listAll(server.portal, authorization)
  const ids = new Set(assets.map(({ id }) => id))
  t.same(
    acknowledged.filter((id) => !ids.has(id)),
    [],
    'every acknowledged upload is there',
  )
  for (const { id } of assets) {
    const asset = await prepared(server.portal, id)
    t.ok(asset.variants.lod, `${id}: its lighter form is made in the end`)
    for (const variant of ['source', 'lod'] as const) {
      const bytes = await bytesOf(`${server.portal}/api/assets/${id}/file?variant=${variant}`)
      t.equal(bytes.length, asset.variants[variant]?.size, `${id}: the ${variant} is whole`)
      if (variant === 'source') t.equal(sha256(bytes), asset.files[0]?.sha256)
      else t.equal((await validateBytes(bytes)).issues.numErrors, 0)
    }
  }
  await server.stop()
  const { stored, named } = bytesOn(join(folder, 'data'))
  t.same(
    [...named].filter((key) => !stored.has(key)),
    [],
    'every row’s bytes are there',
  )
  const orphans = [...stored].filter((key) => !named.has(key))
  t.ok(orphans.length <= KILLS * 4, `${orphans.length} pieces wait for the sweep, as many as were cut off at most`)
})

async function listAll(portal: string, authorization: string): Promise<Made[]> {
  const assets: Made[] = []
  for (let cursor = ''; ; ) {
    const query = `owner=me&limit=100${cursor && `&cursor=${cursor}`}`
    const { body } = await ask('GET', `${portal}/api/assets?${query}`, { headers: { authorization } })
    assets.push(...body.assets)
    if (!body.nextCursor) return assets
    cursor = body.nextCursor
  }
}

async function prepared(portal: string, id: string): Promise<Made> {
  return until(async () => {
    const { body } = await ask('GET', `${portal}/api/assets/${id}`)
    return body.variants?.lod ? body : null
  })
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

const bytesOf = async (url: string) => new Uint8Array(await (await fetch(url)).arrayBuffer())

const pieceOf = ({ parentPath, name }: Dirent) => `${basename(parentPath)}/${name}`

/** Returns the stored blobs of assets, and those that rows refer to. */
function bytesOn(data: string): { stored: Set<string>; named: Set<string> } {
  const blobs = join(data, 'blobs/assets')
  const entries = existsSync(blobs) ? readdirSync(blobs, { recursive: true, withFileTypes: true }) : []
  const stored = new Set(entries.filter((entry) => entry.isFile()).map(pieceOf))
  const database = new Sqlite(join(data, 'gameyard.db'), { readonly: true })
  try {
    const rows = database.prepare('select id, files, lod_sha256 as lod, thumbnail_sha256 as picture from assets').all()
    const named = new Set<string>()
    for (const { id, files, lod, picture } of rows as { id: string; files: string; lod?: string; picture?: string }[]) {
      for (const { sha256: digest } of JSON.parse(files)) named.add(`${id}/${digest}`)
      for (const digest of [lod, picture]) if (digest) named.add(`${id}/${digest}`)
    }
    return { stored, named }
  } finally {
    database.close()
  }
}
