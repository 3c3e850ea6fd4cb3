// Assets and Blender jobs.
import { artifactOf } from '../../kit/blender.ts'
import { until } from '../../kit/until.ts'
import { zip } from '../../plugins/deploy/zip-writer.ts'
import type { Case, Cases, World } from './world.ts'

const JOBS = '/api/blender/v1/jobs'

const file = (w: World, id: string, query = '', options = {}) =>
  w.get(`${w.studio}/api/assets/${id}/file${query}`, options)

const reads = (w: World) => w.token('assets:read')

/** A route of the worker API that only reads: what it says, and that it wants the scope. */
const told =
  (path: string, shape: object): Case =>
  async (t, w) => {
    t.match(await w.get(w.studio + path, { token: await reads(w) }), { status: 200, body: shape })
    t.equal((await w.get(w.studio + path)).status, 401)
    t.equal((await w.get(w.studio + path, { token: await w.token('games:read') })).status, 403)
  }

/** A pack of two files that an administrator vouches for. */
const curatedPack = (w: World) =>
  w.once('pack', async () => {
    const archive = zip([
      { name: 'readme.txt', bytes: 'Tiles.' },
      { name: 'more/notes.txt', bytes: 'More tiles.' },
    ])
    const pack = await w.createAsset({ title: 'Tiles', visibility: 'public', license: 'CC0-1.0' }, archive, 'tiles.zip')
    await w.platform.app.assets.changes.curate(pack.id, true)
    return pack
  })

export const studio: Cases = {
  'Studio assets / GET /api/assets/{id-or-slug}/file': async (t, w) => {
    const { id, slug } = await w.publicAsset()
    for (const [name, query] of [
      [id, ''],
      [slug, ''],
      [id, '?variant=auto'],
      [id, '?variant=source'],
      [id, '?variant=lod'],
    ]) {
      const { status, headers, body } = await file(w, name, query)
      t.equal(status, 200, `${name}${query}`)
      t.match(headers['x-service-variant'], /^(source|lod)$/)
      t.match(String(body), /^glTF/)
    }
    t.equal((await file(w, id, '?variant=source')).headers['x-service-variant'], 'source')
    t.equal((await file(w, id, '?variant=small')).status, 400)
    const pack = await curatedPack(w)
    t.match((await file(w, pack.id)).headers, { 'content-type': 'application/zip' }, 'a pack is a ZIP')
    t.equal((await file(w, pack.id, '?path=more/notes.txt')).body, 'More tiles.', 'or one of its files')
    t.equal((await file(w, pack.id, '?path=nothing.txt')).status, 404)
    const { url: game } = await w.game()
    for (const base of [`${w.studio}/api/assets/${pack.id}/files`, `${game}/__service/assets/${pack.id}`]) {
      t.match(await w.get(`${base}/more/notes.txt`), { status: 200, body: 'More tiles.' }, 'with its path, too')
      t.equal((await w.get(`${base}/nothing.txt`)).status, 404)
    }
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      const { headers } = await w.http(method, `${w.studio}/api/assets/${id}/file`, {
        headers: { origin: 'https://x.example' },
      })
      t.equal(headers['access-control-allow-origin'], '*', `${method}: any page may read it`)
    }
  },
  'Cache headers / public assets': async (t, w) =>
    t.equal((await file(w, (await w.publicAsset()).id)).headers['cache-control'], 'public, max-age=86400'),
  'Cache headers / private assets': async (t, w) => {
    const { status, headers } = await file(w, (await w.privateAsset()).id, '', { token: await reads(w) })
    t.match({ status, headers }, { status: 200, headers: { 'cache-control': 'private, no-store' } })
    t.equal(headers['access-control-allow-origin'], '*', 'for the owner')
  },
  'Cache headers / curated pack files': async (t, w) => {
    const { headers } = await file(w, (await curatedPack(w)).id, '?path=readme.txt')
    t.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
  },
  'Limits / public asset cache': async (t, w) => {
    const { id } = await w.publicAsset()
    t.match((await file(w, id)).headers['cache-control'], /\bmax-age=86400\b/)
    const { url } = await w.game()
    t.match((await w.get(`${url}/__service/assets/${id}.glb`)).headers['cache-control'], /\bmax-age=86400\b/)
  },
  'Limits / curated pack file cache': async (t, w) => {
    const { headers } = await file(w, (await curatedPack(w)).id, '?path=more/notes.txt')
    t.match(headers['cache-control'], /max-age=31536000, immutable/)
  },
  'Errors / 404 private asset': async (t, w) => {
    const { id } = await w.privateAsset()
    const stranger = await w.createToken(['assets:read'], {}, await w.player())
    for (const token of [undefined, stranger.token, await w.token('games:read')]) {
      const { status, headers } = await file(w, id, '', { token })
      t.equal(status, 404)
      t.equal(headers['access-control-allow-origin'], undefined, 'and no page may read that')
    }
  },

  'Studio assets / GET /api/assets/{id}/animation/{preset}': async (t, w) => {
    const { id } = await w.publicAsset()
    t.match(await w.get(`${w.studio}/api/assets/${id}/animation/walk`), {
      status: 422,
      body: { error: { code: 'not_rigged' } },
    })
    const job = await w.completedJob(t)
    if (!job) return
    const body = { name: 'A figure', template: 'humanoid' }
    const queued = await w.post(w.studio + JOBS, { token: job.token, body })
    const status = await until(async () => {
      const { status } = (await w.get(`${w.studio}${JOBS}/${queued.body.id}`, { token: job.token })).body
      return ['completed', 'failed'].includes(status) && status
    }, 120)
    t.equal(status, 'completed')
    const model = await artifactOf(w.platform, job, queued.body.id, 'model.glb')
    const figure = await w.createAsset({ title: 'A figure', visibility: 'public' }, model)
    const walking = await w.get(`${w.studio}/api/assets/${figure.id}/animation/walk`)
    t.equal(walking.status, 200)
    t.match(String(walking.body), /^glTF/, 'the rigged model with that clip')
    t.equal((await w.get(`${w.studio}/api/assets/${figure.id}/animation/moonwalk`)).status, 404)
  },
  'Blender worker API / GET /api/blender/health': told('/api/blender/health', {
    executor: String,
    capacity: Number,
    active: Number,
    queued: Number,
    library: { status: String },
  }),
  'Blender worker API / GET /api/blender/v1/capabilities': told('/api/blender/v1/capabilities', {
    actions: ['create', 'revise', 'render', 'inspect', 'export'],
    inputs: { type: 'object' },
    artifacts: ['model.glb', 'preview.png', 'inspection.json', 'scene.blend'],
    limits: { scriptBytes: Number, queuedPerOwner: Number, timeoutSeconds: Number },
  }),
  'Blender worker API / GET /api/blender/v1/templates': told('/api/blender/v1/templates', {
    templates: [
      { id: String, version: Number, parameters: { type: 'object' }, recommendedStarters: Array, guidance: String },
    ],
  }),
  'Blender worker API / GET /api/blender/v1/library': told('/api/blender/v1/library', {
    starters: [
      {
        kind: String,
        dataBlocks: Array,
        provenance: String,
        license: String,
        sha256: /^[0-9a-f]{64}$/,
        quality: String,
        coordinates: Object,
      },
    ],
  }),
  'Blender worker API / GET /api/blender/v1/jobs': async (t, w) => {
    const job = await w.completedJob(t)
    if (!job) return
    const { body } = await w.get(w.studio + JOBS, { token: await reads(w) })
    t.ok(body.jobs.some(({ id }: { id: string }) => id === job.done.id))
    const { token } = await w.createToken(['assets:read'], {}, await w.player())
    t.same((await w.get(w.studio + JOBS, { token })).body.jobs, [], "only one's own")
  },
  'Blender worker API / POST /api/blender/v1/jobs': async (t, w) => {
    const job = await w.completedJob(t)
    if (job) t.match(job.queued, { id: /^job_/, name: 'A chest', status: 'queued', action: 'create', template: 'prop' })
    const token = await w.token('assets:generate')
    t.equal((await w.post(w.studio + JOBS, { token, body: { template: 'prop' } })).status, 400, 'the name is required')
    const body = { name: 'x', nothing: 1 }
    t.equal((await w.post(w.studio + JOBS, { token, body })).status, 400)
    t.equal((await w.post(w.studio + JOBS, { token: await reads(w), body })).status, 403)
  },
  'Blender worker API / GET /api/blender/v1/jobs/{id}': async (t, w) => {
    const job = await w.completedJob(t)
    if (!job) return
    const { body } = await w.get(`${w.studio}${JOBS}/${job.done.id}`, { token: job.token })
    t.match(body, {
      status: 'completed',
      progress: 1,
      queuePosition: null,
      action: 'create',
      timing: { queuedAt: String, startedAt: String, finishedAt: String },
      error: null,
    })
    const { token } = await w.createToken(['assets:read'], {}, await w.player())
    t.equal((await w.get(`${w.studio}${JOBS}/${job.done.id}`, { token })).status, 404, "another's")
  },
  'Blender worker API / POST /api/blender/v1/jobs/{id}/cancel': async (t, w) => {
    const job = await w.completedJob(t)
    if (!job) return
    t.equal((await w.post(`${w.studio}${JOBS}/${job.done.id}/cancel`, { token: job.token })).status, 409, 'it is over')
    const slow = { name: 'Slow', template: 'prop', script: 'import time\ntime.sleep(60)' }
    const { id } = (await w.post(w.studio + JOBS, { token: job.token, body: slow })).body
    t.equal((await w.post(`${w.studio}${JOBS}/${id}/cancel`, { token: await reads(w) })).status, 403)
    t.equal((await w.post(`${w.studio}${JOBS}/${id}/cancel`, { token: job.token })).status, 200)
    await until(async () => {
      const { body } = await w.get(`${w.studio}${JOBS}/${id}`, { token: job.token })
      return body.status === 'cancelled'
    })
    t.pass('cancelled')
  },
  'Blender worker API / POST /api/blender/v1/jobs/{id}/actions': async (t, w) => {
    const job = await w.completedJob(t)
    if (!job) return
    const at = `${w.studio}${JOBS}/${job.done.id}/actions`
    for (const action of ['revise', 'render', 'inspect', 'export']) {
      const { status, body } = await w.post(at, { token: job.token, body: { action } })
      t.match({ status, body }, { status: 202, body: { action, sourceJobId: job.done.id } }, action)
      await w.post(`${w.studio}${JOBS}/${body.id}/cancel`, { token: job.token })
    }
    t.equal((await w.post(at, { token: job.token, body: { action: 'create' } })).status, 400)
  },
  'Blender worker API / GET /api/blender/v1/jobs/{id}/artifacts': async (t, w) => {
    const job = await w.completedJob(t)
    if (!job) return
    const { body } = await w.get(`${w.studio}${JOBS}/${job.done.id}/artifacts`, { token: await reads(w) })
    t.same(body.artifacts.map(({ name }: { name: string }) => name).sort(), [
      'inspection.json',
      'model.glb',
      'preview.png',
      'scene.blend',
    ])
  },
  'Blender worker API / GET /api/blender/v1/jobs/{id}/artifacts/{name}': async (t, w) => {
    const job = await w.completedJob(t)
    if (!job) return
    for (const [name, type, begins] of [
      ['model.glb', 'model/gltf-binary', /^glTF/],
      ['preview.png', 'image/png', /^.PNG/],
      ['inspection.json', 'application/json', undefined],
      ['scene.blend', 'application/', undefined],
    ] as const) {
      const answer = await w.get(`${w.studio}${JOBS}/${job.done.id}/artifacts/${name}`, { token: job.token })
      t.equal(answer.status, 200, name)
      t.match(String(answer.headers['content-type']), type)
      if (begins) t.match(String(answer.body), begins)
    }
    t.equal((await w.get(`${w.studio}${JOBS}/${job.done.id}/artifacts/passwd`, { token: job.token })).status, 404)
  },
  'Blender worker API / POST /api/generations': async (t, w) => {
    const path = `${w.studio}/api/generations`
    const body = { provider: 'blender', name: 'A crate', template: 'prop', visibility: 'public' }
    t.equal((await w.post(path, { token: await reads(w), body })).status, 403)
    const token = await w.token('assets:generate')
    t.match(await w.post(path, { token, body: { ...body, provider: 'clay' } }), {
      status: 400,
      body: { error: { code: 'unsupported_provider' } },
    })
    const job = await w.completedJob(t)
    if (!job) return
    const started = await w.post(path, { token, body })
    t.match(started, { status: 202, body: { id: /^gen_/, status: String, jobId: /^job_/, assetId: null } })
    const ended = await until(async () => {
      const { body: now } = await w.get(`${path}/${started.body.id}`, { token: await reads(w) })
      return (now.assetId || now.status === 'failed') && now
    }, 120)
    t.match(String((await file(w, ended.assetId)).body), /^glTF/, 'a normal asset')
  },
}
