// In a process of its own: ids never go back, and other files have set a later clock.
// Tests jobs on a real Blender in its sandbox through the API, as a coding agent uses it.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { PNG } from 'pngjs'
import t from 'tap'
import { JobRow } from '../../../plugins/blender/entities.ts'
import { artifactKey, store } from '../../../plugins/blender/jobs/artifacts.ts'
import { Retention } from '../../../plugins/blender/jobs/retention.ts'
import { artifactOf, errorOf, settled } from '../../kit/blender.ts'
import { hasPrograms } from '../../kit/components.ts'
import { ALL, inFull } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'

const JOBS = '/api/blender/v1/jobs'

t.test(
  'a template becomes a model, a picture, an inspection and a scene, and further work goes on from it',
  async (t) => {
    if (!hasPrograms(t, 'blender', 'bwrap')) return
    const platform = await startPlatform(t, { config: { blender: { driver: 'subprocess' } } })
    const owner = await platform.signUp()
    const program = await platform.program(owner)
    const health = await program.get('/api/blender/health')
    t.match(health, { status: 200, body: { executor: 'subprocess', status: 'ok', capacity: 1, active: 0, queued: 0 } })

    const queued = await program.post(JOBS, {
      name: 'A chest',
      template: 'prop',
      parameters: { kind: 'chest', size: 2 },
      script: `
job.progress(0.4, 'adding a gem')
gem = job.blob('gem', 0.2, job.material('red', '#c02040'), (0, 0, 1.6))
print('size', job.param('size'), 'and what is it', job.param('nothing', 'else'))
job.warn('made in a test')
`,
    })
    t.match(queued, { status: 202, body: { status: 'queued', queuePosition: 1, action: 'create', attempts: 0 } })
    const job = await settled(program, queued.body.id)
    t.match(job, { status: 'completed', error: null, progress: 1, attempts: 1, queuePosition: null })
    t.same(job.artifacts.map(({ name }: { name: string }) => name).sort(), [
      'inspection.json',
      'model.glb',
      'preview.png',
      'scene.blend',
    ])
    const glb = await artifactOf(platform, program, job.id, 'model.glb')
    t.equal(glb.toString('latin1', 0, 4), 'glTF')
    const picture = PNG.sync.read(await artifactOf(platform, program, job.id, 'preview.png'))
    t.same([picture.width, picture.height], [512, 512])
    const inspection = JSON.parse(String(await artifactOf(platform, program, job.id, 'inspection.json')))
    t.match(inspection, {
      totals: { objects: 2 },
      warnings: [{ code: 'script', object: null, message: 'made in a test' }],
    })

    const revised = await program.post(`${JOBS}/${job.id}/actions`, {
      action: 'revise',
      script: "bpy.data.objects.remove(bpy.data.objects['gem'])\nassert job.param('size') == 2",
    })
    t.match(revised, { status: 202, body: { action: 'revise', sourceJobId: job.id, name: 'A chest' } })
    const after = await settled(program, revised.body.id)
    t.match(after, { status: 'completed', error: null })
    const left = JSON.parse(String(await artifactOf(platform, program, after.id, 'inspection.json')))
    t.equal(left.totals.objects, 1)

    const others = [
      ['render', ['preview.png']],
      ['inspect', ['inspection.json']],
      ['export', ['model.glb', 'inspection.json']],
    ] as const
    for (const [action, names] of ALL ? others : others.slice(0, 1)) {
      const { body } = await program.post(`${JOBS}/${after.id}/actions`, { action })
      const done = await settled(program, body.id)
      t.match(done, { status: 'completed', artifacts: names.map((name) => ({ name })) }, action)
    }
    const list = await program.get(`${JOBS}?limit=2`)
    t.equal(list.body.jobs.length, 2)
    t.ok(list.body.nextCursor)
    t.match(await program.get(`${JOBS}?action=render`), { body: { jobs: [{ action: 'render' }] } })
    t.match(await program.get(`${JOBS}?status=failed`), { body: { jobs: [] } })
  },
)

inFull(t)?.test('a script that fails says where; too many faces, nothing at all, and cancelling', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startPlatform(t, {
    config: { blender: { driver: 'subprocess' }, limits: { blenderTimeoutSeconds: 3000 } },
  })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const fail = async (fields: object) => {
    const { status, body } = await program.post(JOBS, { name: 'x', ...fields })
    t.equal(status, 202)
    return settled(program, body.id)
  }
  const wrong = await fail({ script: "print('so far')\n\nnothing_like_this()" })
  t.match(wrong, { status: 'failed', error: { code: 'script_error', message: /^line 3: NameError/ }, artifacts: [] })
  t.match(wrong.log, /so far\n[\s\S]*error: line 3: NameError/, 'a failed job has the end of its log')
  const log = await program.get(`${JOBS}/${wrong.id}/log`)
  t.match(log, { status: 200, body: wrong.log, headers: { 'content-type': 'text/plain; charset=utf-8' } })
  t.match((await program.get(`${JOBS}/${wrong.id}/log?tail=1`)).body, /^error: line 3: NameError.*\n$/)
  t.same(errorOf(await program.get(`${JOBS}/${wrong.id}/log?tail=0`)), [400, 'invalid_request'])
  const other = await platform.program(await platform.signUp())
  t.same(errorOf(await other.get(`${JOBS}/${wrong.id}/log`)), [404, 'not_found'])
  t.equal((await program.get(`${JOBS}?status=failed`)).body.jobs[0].log, undefined, 'lists are short')
  const many = await fail({ script: 'for n in range(100): print(n)\nboom' })
  t.equal(many.log.trimEnd().split('\n').length, 40)
  t.match((await program.get(`${JOBS}/${many.id}/log`)).body, /^(?:.*\n)*0\n1\n/)
  t.match(await fail({ script: 'def' }), { error: { code: 'script_error', message: /^line 1: SyntaxError/ } })
  t.match(await fail({ script: 'pass' }), { error: { code: 'empty_scene' } })
  t.match(await fail({ template: 'tree', faceLimit: 10 }), {
    error: { code: 'face_limit', message: /the limit is 10/ },
  })

  const { body: running } = await program.post(JOBS, { name: 'long', script: 'import time\ntime.sleep(50_000)' })
  const { body: waiting } = await program.post(JOBS, { name: 'behind', template: 'prop' })
  await until(async () => (await program.get(`${JOBS}/${running.id}`)).body.status === 'running')
  t.match((await program.get(`${JOBS}/${waiting.id}`)).body, { status: 'queued', queuePosition: 1 })
  t.match(await program.post(`${JOBS}/${waiting.id}/cancel`), { status: 200, body: { status: 'cancelled' } })
  t.match(await program.post(`${JOBS}/${running.id}/cancel`), { status: 200, body: { status: 'cancelled' } })
  t.match(await program.post(`${JOBS}/${running.id}/cancel`), { status: 200 }, 'twice is no mistake')
  const next = await fail({ script: 'pass' })
  t.equal(next.status, 'failed', 'the one behind it has run')
  t.same(errorOf(await program.post(`${JOBS}/${next.id}/cancel`)), [409, 'conflict'])
  t.same(errorOf(await program.post(`${JOBS}/${next.id}/actions`, { action: 'render' })), [409, 'conflict'])
})

t.test('bad requests are refused, each with its reason', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startPlatform(t, { config: { blender: { driver: 'subprocess' } } })
  const program = await platform.program(await platform.signUp())
  const other = await platform.program(await platform.signUp())
  for (const [body, message] of [
    [{ name: 'x' }, /nothing to make/],
    [{ name: ' ', template: 'prop' }, /name/],
    [{ name: 'x', template: 'nowhere' }, /no template nowhere/],
    [{ name: 'x', template: 'prop', parameters: { kind: 'sofa' } }, /parameters\.kind/],
    [{ name: 'x', template: 'prop', parameters: { sice: 1 } }, /parameters\.sice/],
    [{ name: 'x', template: 'prop', starterAssets: ['nothing'] }, /no starter nothing/],
    [{ name: 'x', script: '#'.repeat(65_537) }, /65537 bytes; 65536/],
    [{ name: 'x', script: 'pass', faceLimit: 500_001 }, /faceLimit/],
    [{ name: 'x', action: 'render' }, /sourceJobId/],
    [{ name: 'x', script: 'pass', shell: 'sh' }, /shell/],
  ] as const) {
    const answer = await program.post(JOBS, body)
    t.same(errorOf(answer), [400, 'invalid_request'], String(message))
    t.match(answer.body.error.message, message)
  }
  t.same(errorOf(await program.post(JOBS, { name: 'x', action: 'render', sourceJobId: 'job_nowhere' })), [
    404,
    'not_found',
  ])
  const jobs = []
  for (let i = 0; i < 12; i++)
    jobs.push(await program.post(JOBS, { name: `${i}`, script: 'import time; time.sleep(60)' }))
  t.ok(jobs.filter(({ status }) => status === 202).length >= 10)
  t.same(errorOf(jobs.at(-1) as (typeof jobs)[0]), [409, 'queue_full'])
  t.match(await other.get(JOBS), { body: { jobs: [] } }, "another's jobs are not listed")
  t.same(errorOf(await other.get(`${JOBS}/${jobs[0]?.body.id}`)), [404, 'not_found'])
})

t.test('a storage that refuses a file leaves it closed', async (t) => {
  const folder = t.testdir({ 'preview.png': 'a picture' })
  let content: Readable | undefined
  const put = async (_key: string, body: Readable) => {
    content = body
    throw new Error('The storage is full.')
  }
  await t.rejects(store({ put }, { jobId: 'job_1', folder, name: 'preview.png' }), /full/)
  t.equal(content?.destroyed, true)
})

t.test('without Blender there are no jobs, and health says why', async (t) => {
  const platform = await startPlatform(t, { config: { blender: { driver: 'subprocess', command: 'no-blender-here' } } })
  const program = await platform.program(await platform.signUp())
  t.match(await program.get('/api/blender/health'), {
    status: 200,
    body: { status: 'unavailable', reason: /no program no-blender-here/, blenderVersion: null, capacity: 0 },
  })
  const refused = await program.post(JOBS, { name: 'x', template: 'prop' })
  t.same(errorOf(refused), [503, 'blender_not_configured'])
  t.match(await program.get('/api/blender/v1/capabilities'), {
    status: 200,
    body: {
      version: 'v1',
      limits: { scriptBytes: 65_536, queuedPerOwner: 10, runningPerOwner: 2, timeoutSeconds: 300 },
    },
  })
})

inFull(t)?.test('files that are not what they are called, too much output, and no end', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startPlatform(t, {
    config: { blender: { driver: 'subprocess' }, limits: { blenderTimeoutSeconds: 60 } },
  })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const begin = async (script: string) => (await program.post(JOBS, { name: 'x', script })).body.id
  /** Returns a script that writes all files itself, one of them with different content. */
  const lying = (name: string, content: string) => `
import artifacts, os
GOOD = {
    'inspection.json': b'{"totals": {"triangles": 12}}',
    'model.glb': b'glTF' + (2).to_bytes(4, 'little') + (12).to_bytes(4, 'little'),
    'preview.png': bytes.fromhex('${PNG.sync.write(new PNG({ width: 1, height: 1 })).toString('hex')}'),
    'scene.blend': b'BLENDER-v304 and more',
}
def write(request, job, output, failed):
    for name, content in {**GOOD, ${JSON.stringify(name)}: ${content}}.items():
        with open(os.path.join(output, name), 'wb') as file:
            file.write(content)
artifacts.write = write
`
  const jobs = new Map<string, { id: string; message: RegExp }>()
  for (const [name, content, message] of [
    ['model.glb', "b'<script>alert(1)</script>'", /model\.glb is no binary glTF/],
    ['model.glb', "GOOD['model.glb'] + b'more'", /model\.glb is no binary glTF/],
    ['preview.png', "b'<svg onload=alert(1)>' * 10", /preview\.png is no picture/],
    ['inspection.json', "b'[' * 100000", /inspection\.json is no JSON/],
    ['inspection.json', "b'null'", /inspection\.json is no inspection/],
  ] as const)
    jobs.set(`${name} ${content}`, { id: await begin(lying(name, content)), message })
  for (const [what, { id, message }] of jobs) {
    const job = await settled(program, id)
    t.match(job, { status: 'failed', error: { code: 'invalid_artifact', message }, artifacts: [] }, what)
  }
  const chatter = await settled(program, await begin("for _ in range(400): print('x' * 65536)"))
  t.match(chatter, { status: 'failed', error: { code: 'limit_exceeded', message: /output limit/ } })
  const keys = []
  for await (const { key } of platform.app.storage.list('blender/')) keys.push(key)
  t.same(keys, [], 'nothing of a failed job is kept')
})

t.test('a file of a job answers ranges and conditions, and a browser runs none', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startPlatform(t, {
    config: { blender: { driver: 'subprocess' }, limits: { blenderTimeoutSeconds: 5 } },
  })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const endless = await program.post(JOBS, { name: 'x', script: 'import time; time.sleep(60)' })
  t.match(await settled(program, endless.body.id), { status: 'failed', error: { code: 'timeout' } })

  // This writes a finished job as a worker does.
  const { app, clock } = platform
  const bytes = Buffer.from('glTF and some more')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const artifact = { name: 'model.glb', size: bytes.length, contentType: 'model/gltf-binary', sha256 } as const
  const { id } = endless.body
  await app.storage.put(artifactKey(id, artifact), Readable.from([bytes]), artifact)
  await app.db.em().nativeUpdate(JobRow, { id }, { status: 'completed', artifacts: [artifact] })
  const url = `${JOBS}/${id}/artifacts/model.glb`
  const whole = await program.get(url)
  t.match(whole, { status: 200, text: String(bytes) })
  t.match(whole.headers, {
    etag: `"${sha256}"`,
    'content-security-policy': "sandbox; default-src 'none'",
    'content-disposition': 'attachment; filename="model.glb"',
    'cache-control': 'private, no-cache',
  })
  const part = await program.get(url, { headers: { range: 'bytes=5-7' } })
  t.match(part, { status: 206, text: 'and', headers: { 'content-range': `bytes 5-7/${bytes.length}` } })
  const beyond = await program.get(url, { headers: { range: 'bytes=99-' } })
  t.match(beyond, { status: 416, headers: { 'content-range': `bytes */${bytes.length}` } })
  t.match(await program.get(url, { headers: { 'if-none-match': `"${sha256}"` } }), { status: 304, text: '' })
  const head = await program.request('HEAD', url)
  t.match(head, { status: 200, text: '', headers: { 'content-length': String(bytes.length) } })

  const sweep = () => new Retention(app, app.blender.limits.blenderKeepDays).sweep(new AbortController().signal)
  const keysOf = async () => (await Array.fromAsync(app.storage.list(`blender/${id}/`))).map(({ key }) => key)
  clock.advance(29 * 86_400_000)
  await sweep()
  t.equal((await program.get(`${JOBS}/${id}`)).status, 200, 'within the month it stays')
  clock.advance(2 * 86_400_000)
  await app.db.em().nativeUpdate(JobRow, { id }, { status: 'running' })
  await sweep()
  t.equal((await keysOf()).length, 1, 'what is not over stays')
  await app.db.em().nativeUpdate(JobRow, { id }, { status: 'completed' })
  await sweep()
  t.same(errorOf(await program.get(url)), [404, 'not_found'])
  await until(async () => (await keysOf()).length === 0)
  t.pass('and then its files go')
})
