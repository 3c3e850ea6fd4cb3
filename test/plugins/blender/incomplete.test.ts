// Tests a real Blender whose Python has no numpy: it starts, but every glTF export fails.
import t from 'tap'
import { aiConfig, startAiServer } from '../../kit/ai-server.ts'
import { blenderWithoutNumpy, settled } from '../../kit/blender.ts'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'

const JOBS = '/api/blender/v1/jobs'

t.test('a Blender without numpy is found at the start, and jobs say what it lacks', async (t) => {
  const command = blenderWithoutNumpy(t)
  if (!command) return
  const server = await startAiServer(t)
  const platform = await startPlatform(t, {
    config: { blender: { driver: 'subprocess', command, unsafe: true }, ai: aiConfig(server) },
  })
  const { app } = platform
  const admin = await platform.admin()
  const note = await until(async () => app.health.notes.get('blender'))
  t.match(note, { state: 'warning', message: /python3-numpy/ })
  t.match(
    (await admin.get('/admin')).text,
    /Blender is not well[\s\S]*python3-numpy/i,
    'the overview names the package',
  )

  const program = await platform.program(admin)
  t.match((await program.get('/api/blender/health')).body, {
    status: 'incomplete',
    reason: /no numpy/,
    blenderVersion: /^\d+\.\d+/,
  })
  t.match((await admin.get('/blender')).text, /can’t write models here now[\s\S]*python3-numpy/)
  const queued = await program.post(JOBS, { name: 'A chest', template: 'prop' })
  t.equal(queued.status, 202)
  const job = await settled(program, queued.body.id)
  t.match(job, { status: 'failed', error: { code: 'blender_incomplete', message: /numpy[\s\S]*python3-numpy/ } })
  const { log } = await app.blender.text(admin.id, job.id)
  t.notMatch(log, /Traceback/)

  const generation = { provider: 'blender', name: 'A boat', prompt: 'A boat with a sail' }
  t.match(await program.post('/api/generations', generation), {
    status: 503,
    body: { error: { code: 'blender_incomplete', message: /python3-numpy/ } },
  })
})
