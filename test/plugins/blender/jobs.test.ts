// Jobs on a real Blender in its sandbox, through the API, as a coding agent uses it.
import { PNG } from 'pngjs'
import t from 'tap'
import { artifactOf, errorOf, hasPrograms, settled, until } from '../../kit/blender.ts'
import { startPlatform } from '../../kit/platform.ts'

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
    t.match(inspection, { totals: { objects: 2 }, warnings: ['made in a test'] })

    const revised = await program.post(`${JOBS}/${job.id}/actions`, {
      action: 'revise',
      script: "bpy.data.objects.remove(bpy.data.objects['gem'])\nassert job.param('size') == 2",
    })
    t.match(revised, { status: 202, body: { action: 'revise', sourceJobId: job.id, name: 'A chest' } })
    const after = await settled(program, revised.body.id)
    t.match(after, { status: 'completed', error: null })
    const left = JSON.parse(String(await artifactOf(platform, program, after.id, 'inspection.json')))
    t.equal(left.totals.objects, 1)

    for (const [action, names] of [
      ['render', ['preview.png']],
      ['inspect', ['inspection.json']],
      ['export', ['model.glb', 'inspection.json']],
    ] as const) {
      const { body } = await program.post(`${JOBS}/${after.id}/actions`, { action })
      const done = await settled(program, body.id)
      t.match(done, { status: 'completed', artifacts: names.map((name) => ({ name })) }, action)
    }
    const list = await program.get(`${JOBS}?limit=3`)
    t.equal(list.body.jobs.length, 3)
    t.ok(list.body.nextCursor)
    t.match(await program.get(`${JOBS}?action=render`), { body: { jobs: [{ action: 'render' }] } })
    t.match(await program.get(`${JOBS}?status=failed`), { body: { jobs: [] } })
  },
)

t.test('a script that fails says where; too many faces, nothing at all, and cancelling', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startPlatform(t, {
    config: { blender: { driver: 'subprocess' }, limits: { blenderTimeoutSeconds: 60 } },
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
  t.match((await platform.app.blender.text(owner.id, wrong.id)).log, /so far/)
  t.match(await fail({ script: 'def' }), { error: { code: 'script_error', message: /^line 1: SyntaxError/ } })
  t.match(await fail({ script: 'pass' }), { error: { code: 'empty_scene' } })
  t.match(await fail({ template: 'tree', faceLimit: 10 }), {
    error: { code: 'face_limit', message: /the limit is 10/ },
  })

  const { body: running } = await program.post(JOBS, { name: 'long', script: 'import time\ntime.sleep(50)' })
  const { body: waiting } = await program.post(JOBS, { name: 'behind', template: 'prop' })
  await until(async () => (await program.get(`${JOBS}/${running.id}`)).body.status === 'running')
  t.match((await program.get(`${JOBS}/${waiting.id}`)).body, { status: 'queued', queuePosition: 1 })
  t.match(await program.post(`${JOBS}/${waiting.id}/cancel`), { status: 200, body: { status: 'cancelled' } })
  const before = Date.now()
  t.match(await program.post(`${JOBS}/${running.id}/cancel`), { status: 200, body: { status: 'cancelled' } })
  t.match(await program.post(`${JOBS}/${running.id}/cancel`), { status: 200 }, 'twice is no mistake')
  const next = await fail({ script: 'pass' })
  t.equal(next.status, 'failed', 'the one behind it has run')
  t.ok(Date.now() - before < 45_000, 'the place was free before the long one would have ended')
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
