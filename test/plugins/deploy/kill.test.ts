import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { blobKey } from '../../../plugins/deploy/blobs/blobs.ts'
import { ALL, amount } from '../../kit/extent.ts'
import { startKillable } from '../../kit/killable-server.ts'
import { makeToken } from '../../kit/remote-sign-up.ts'
import { freePort } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { type Build, build, filesOf, sha256, tarOf, type Upload } from './build.ts'

/** The number of times that the server is killed. */
const KILLS = amount(1, 50)
const FILES = 12
/** The number of deploys in the history. */
const KEPT = 3

t.setTimeout(timeLimit(480 + KILLS * 20))

t.test(
  `kill -9 at ${KILLS} moments of uploads and finalize leaves the old build live or the new one, whole`,
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gameyard-kill-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const dataDir = join(folder, 'data')
    let hours = 0
    const port = await freePort()
    const portal = `http://localhost:${port}`
    let server = await serve(folder, port, hours)
    t.teardown(() => void server.kill('SIGKILL'))
    const token = await makeToken(portal, ['games:read', 'games:write', 'deployments:write'])
    const game = await call(portal, token, '/api/games', { title: 'Kill', description: '' })

    let stamp = 0
    const builds = new Map<string, Build>()
    let acknowledged = await deployOnce()
    let flips = 0
    for (let cycle = 1; cycle <= KILLS; cycle++) {
      let dead = false
      const deploying = (async () => {
        while (!dead) acknowledged = await deployOnce()
      })().catch((error) => {
        if (!dead) throw error
      })
      const before = acknowledged
      await sleep(20 + Math.random() * 500)
      dead = true
      server.kill('SIGKILL')
      await once(server, 'exit')
      await deploying
      const { noted, counted } = storedIn(dataDir)
      t.equal(noted, counted, `cycle ${cycle}: the bytes that count for the owner are those of their deploys`)
      // A day later abandoned files are garbage, which is collected during the following uploads.
      hours += 26
      server = await serve(folder, port, hours)

      const { live, manifest } = inspect(dataDir, game.id)
      t.ok(
        live === acknowledged || live > acknowledged,
        `cycle ${cycle}: what was acknowledged is live, or what came after`,
      )
      t.same(await contentsOf(dataDir, manifest), builds.get(live), `cycle ${cycle}: the live build is whole`)
      if (live !== before) flips++
      acknowledged = await deployOnce()
      t.same((await call(portal, token, `/api/games/${game.id}`)).liveDeployId, acknowledged, 'and it goes on')
      await shortenHistory()
    }
    t.comment(`${stamp} deploys begun, ${flips} kills after a flip`)
    // In the short form garbage-collector.test.ts proves that garbage is collected.
    if (!ALL) return

    // The interrupted compression creates new files; those that nothing refers to are old some days later.
    // garbage-collector.test.ts proves the collection itself.
    for (const days of ALL ? [3, 6] : []) {
      server.kill('SIGKILL')
      await once(server, 'exit')
      server = await serve(folder, port, hours + days * 24)
      t.ok(await until(() => nothingToDo(dataDir)), `${days} days later everything is compressed`)
    }
    if (ALL) await until(async () => (await orphansIn(dataDir)).unreferenced.length === 0)
    t.same((await orphansIn(dataDir)).missing, [], 'everything is left that deploys refer to, and in the end only that')

    async function shortenHistory(): Promise<void> {
      const { deploys } = await call(portal, token, `/api/games/${game.id}/deploys?limit=100`)
      const old = deploys.filter(({ state }: { state: string }) => state !== 'live').slice(KEPT)
      for (const { id } of old) await call(portal, token, `/api/deploy/${id}`, null, 'DELETE')
    }

    async function deployOnce(): Promise<string> {
      const files: Build = { ...build(`build ${++stamp}`, FILES), 'long.js': `${stamp}${'play();'.repeat(500)}` }
      const announced = { gameId: game.id, files: filesOf(files) }
      const { deployId, uploads, bundle } = await call(portal, token, '/api/deploy', announced)
      builds.set(deployId, files)
      if (stamp % 2 === 0) {
        const { url, method, headers } = bundle
        const answer = await fetch(url, { method, headers, body: new Uint8Array(tarOf(files)) })
        if (!answer.ok) throw new Error(await answer.text())
      } else
        await Promise.all(
          uploads.map(async ({ path, uploadUrl, method, headers }: Upload) => {
            const answer = await fetch(uploadUrl, { method, headers, body: String(files[path]) })
            if (!answer.ok) throw new Error(await answer.text())
          }),
        )
      await call(portal, token, `/api/deploy/${deployId}/finalize`, {})
      return deployId
    }
  },
)

const serve = (folder: string, port: number, hours: number) =>
  startKillable(join(import.meta.dirname, 'killable.ts'), { folder, port, rest: [String(hours)] })

// biome-ignore lint/suspicious/noExplicitAny: what comes over the wire has no type
async function call(portal: string, token: string, path: string, body?: unknown, method = 'POST'): Promise<any> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(
    portal + path,
    body === undefined ? { headers } : { method, headers, ...(body === null ? {} : { body: JSON.stringify(body) }) },
  )
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  return answer.status === 204 ? null : answer.json()
}

/** Returns the live deploy in the database, and checks that there is only one. */
function inspect(dataDir: string, gameId: string): { live: string; manifest: [path: string, sha256: string][] } {
  const database = new Sqlite(join(dataDir, 'gameyard.db'), { readonly: true })
  try {
    const live = database.prepare('select live_deploy_id from games where id = ?').pluck().get(gameId) as string
    const states = database.prepare("select id from deploys where game_id = ? and state = 'live'").pluck().all(gameId)
    if (states.length !== 1 || states[0] !== live) throw new Error(`The game names ${live}, the deploys ${states}.`)
    const files = database.prepare('select files from deploy_manifests where deploy_id = ?').pluck().get(live) as string
    return { live, manifest: JSON.parse(files) }
  } finally {
    database.close()
  }
}

/** Returns the bytes of deploys in the quotas and in the manifests, with each content counted once. */
function storedIn(dataDir: string): { noted: number; counted: number } {
  const database = new Sqlite(join(dataDir, 'gameyard.db'))
  try {
    const noted = database.prepare("select sum(bytes) from quota_stored_bytes where kind = 'deploys'").pluck().get()
    const manifests = database
      .prepare(`select files from deploy_manifests m join deploys d on d.id = m.deploy_id
                where d.state not in ('failed', 'expired')`)
      .pluck()
      .all() as string[]
    const sizes = new Map<string, number>()
    for (const files of manifests) for (const [, digest, size] of JSON.parse(files)) sizes.set(digest, size)
    // The manifests count too.
    const counted = [...sizes.values(), ...manifests.map(({ length }) => length)].reduce((sum, size) => sum + size, 0)
    return { noted: Number(noted ?? 0), counted }
  } finally {
    database.close()
  }
}

/** Returns unreferenced blobs, and referenced blobs that are missing. */
async function orphansIn(dataDir: string): Promise<{ unreferenced: string[]; missing: string[] }> {
  const database = new Sqlite(join(dataDir, 'gameyard.db'), { readonly: true })
  try {
    const referenced = new Set<string>()
    const manifests = database
      .prepare(`select files from deploy_manifests m join deploys d on d.id = m.deploy_id
                where d.state in ('live', 'superseded')`)
      .pluck()
      .all() as string[]
    for (const files of manifests) for (const [, digest] of JSON.parse(files)) referenced.add(digest)
    const variants = database.prepare('select sha256, variant_sha256 as variant from blob_variants').all()
    for (const { sha256, variant } of variants as { sha256: string; variant: string | null }[])
      if (variant && referenced.has(sha256)) referenced.add(variant)
    const entries = await readdir(join(dataDir, 'blobs/blobs'), { recursive: true, withFileTypes: true })
    const stored = new Set(entries.filter((entry) => entry.isFile()).map((entry) => entry.name))
    return {
      unreferenced: [...stored].filter((digest) => !referenced.has(digest)),
      missing: [...referenced].filter((digest) => !stored.has(digest)),
    }
  } finally {
    database.close()
  }
}

/** Returns whether all compression that deploys require is done. */
function nothingToDo(dataDir: string): boolean {
  const database = new Sqlite(join(dataDir, 'gameyard.db'), { readonly: true })
  try {
    return database.prepare("select count(*) from background_jobs where name = 'deploy/compress'").pluck().get() === 0
  } finally {
    database.close()
  }
}

async function contentsOf(dataDir: string, manifest: [path: string, sha256: string][]): Promise<Build> {
  const contents: Build = {}
  for (const [path, digest] of manifest) {
    const bytes = await readFile(join(dataDir, 'blobs', blobKey(digest)))
    if (sha256(bytes) !== digest) throw new Error(`${path} has other bytes than its digest says.`)
    contents[path] = bytes.toString()
  }
  return contents
}
