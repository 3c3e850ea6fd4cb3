import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NodeIO } from '@gltf-transform/core'
import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import t from 'tap'
import { aiConfig, openai, startAiServer } from '../../kit/ai-server.ts'
import { hasPrograms } from '../../kit/components.ts'
import { inFull } from '../../kit/extent.ts'
import { ask } from '../../kit/upload.ts'
import { machine, startTestServer, terminalOf } from './kit.ts'

inFull(t)?.test('Blender jobs are followed, fetched, gone on with and stopped from the terminal', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startTestServer(t, { config: { blender: { driver: 'subprocess' } } })
  const { portal } = platform.server
  const token = await platform.token(['assets:read', 'assets:write', 'assets:generate'])
  const mine = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: portal })
  const terminal = await terminalOf(t, mine)
  if (!terminal) return
  const submit = async (body: object) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await ask('POST', `${portal}/api/blender/v1/jobs`, { headers, body })).body.id as string
  }
  t.match(await mine.gameyard('blender', 'health'), { code: 0, stdout: /^Blender \d+\.\d+.* 0 queued/ })
  t.match(await mine.gameyard('blender', 'templates'), { code: 0, stdout: /^TEMPLATE .*\n[\s\S]*\ntree +kind/ })

  t.match(await mine.gameyard('blender', 'starters'), { code: 0, stdout: /^STARTER .*\n[\s\S]*\nrock-small +\w+ / })
  const { templates } = await mine.json('blender', 'templates')
  const { stdout: help } = await mine.gameyard('help', 'blender')
  for (const [, name] of help.matchAll(/--template (\w+)/g))
    t.ok(
      templates.some(({ id }: { id: string }) => id === name),
      `the template ${name} of the examples is there`,
    )

  const id = await submit({ name: 'Oak', template: 'tree' })
  await terminal.type(`gameyard blender watch ${id}`)
  await terminal.sees(/Completed Oak in [\d.]+ s: model\.glb, preview\.png/)
  t.match(await mine.gameyard('blender', 'jobs'), { stdout: new RegExp(`^JOB.*\\n${id} +completed +create`) })
  t.match(await mine.json('blender', 'artifacts', id, '--all', 'made'), { saved: [{ file: /^made\// }, {}, {}, {}] })
  t.equal(readFileSync(join(mine.cwd, 'made/model.glb')).subarray(0, 4).toString(), 'glTF')
  t.match(await mine.gameyard('blender', 'artifacts', id, 'nothing.txt'), { code: 1 })

  writeFileSync(join(mine.cwd, 'broken.py'), 'print("so far")\nraise Exception("no roots")\n')
  const broken = await mine.gameyard('blender', 'revise', id, '--script', 'broken.py', '--wait')
  t.match(broken, {
    code: 1,
    stderr: /\n {2}so far\n[\s\S]* {2}error: .*no roots\n[\s\S]*failed: .*no roots\n {2}Correct the script/,
  })
  const failed = /The job (job_\w{26}) failed/.exec(broken.stderr)?.[1] as string
  t.match(await mine.gameyard('blender', 'log', failed), { code: 0, stdout: /(^|\n)so far\n/ })
  t.match(await mine.json('blender', 'log', failed, '--tail', '1'), { log: /^error: .*no roots\n$/ })
  const queued = await mine.json('blender', 'revise', id, '--action', 'render')
  t.match(await mine.json('blender', 'cancel', queued.id), { id: queued.id })
  t.match(await mine.json('blender', 'watch', queued.id), { error: { code: 'cancelled' } })
})

inFull(t)?.test('a name becomes a figure that walks, without leaving the terminal', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const provider = await startAiServer(t)
  const platform = await startTestServer(t, {
    config: { ai: aiConfig(provider), blender: { driver: 'subprocess' } },
  })
  const mine = machine(t, {
    SERVICE_API_TOKEN: await platform.token(['assets:read', 'assets:write', 'assets:generate', 'ai:generate']),
    SERVICE_BASE_URL: platform.server.portal,
  })
  const hero = await mine.gameyard(
    'blender',
    'create',
    'Hero',
    '--template',
    'humanoid',
    '--param',
    'height=1.9',
    '--wait',
  )
  t.match(hero, {
    code: 0,
    stdout: /^Completed Hero in [\d.]+ s: .*model\.glb.*\nNext: gameyard assets get ast_\w{26}\n$/,
    // A worker may take the job while the answer is made, which then has no place in the queue.
    stderr: /^Hero: (queued( \(\d\))?|running \d+ %, .+)\n/,
  })
  t.match(await mine.gameyard('assets', 'animate', 'hero', 'walk'), { code: 0, stdout: /^Saved hero-walk\.glb \(/ })
  const io = new NodeIO().registerExtensions(ALL_EXTENSIONS)
  const clips = (await io.read(join(mine.cwd, 'hero-walk.glb'))).getRoot().listAnimations()
  t.match(
    clips.map((clip) => clip.getName()),
    ['walk'],
  )
  mkdirSync(join(mine.cwd, 'public'))
  t.match(await mine.json('assets', 'animate', 'hero', 'idle', '-o', 'public'), { file: 'public/hero-idle.glb' })

  // The script comes from standard input. Without `--wait` the output says how to continue.
  const cone = "job.blob('cone', job.param('size'), job.material('red', '#c02040'), (0, 0, 1))\n"
  const queued = await mine.withInput(cone, 'blender', 'create', 'Cone', '--script', '-', '--param', 'size=0.5')
  t.match(queued, { code: 0, stdout: /^Queued as job_\w{26}\.\nNext: gameyard blender watch job_\w{26}\n$/ })
  const id = /job_\w+/.exec(queued.stdout)?.[0] as string
  t.match(await mine.gameyard('blender', 'watch', id), { code: 0, stdout: /^Completed Cone in .*\nNext: gameyard/ })
  t.match(await mine.gameyard('blender', 'artifacts', id), { code: 0, stdout: /^NAME +SIZE\n[\s\S]*model\.glb +\d/ })
  t.match(await mine.gameyard('blender', 'artifacts', id, 'preview.png', '-o', 'cone.png'), {
    code: 0,
    stdout: /^Saved cone\.png \(/,
  })
  t.equal(readFileSync(join(mine.cwd, 'cone.png')).toString('latin1', 1, 4), 'PNG')
  t.match(await mine.gameyard('blender', 'revise', id, '--action', 'inspect', '--name', 'Look', '--wait'), {
    code: 0,
    stdout: /^Completed Look in [\d.]+ s: inspection\.json\n$/,
  })
  const rigid = (await mine.json('blender', 'watch', id)).assetId
  t.match(await mine.gameyard('assets', 'animate', rigid, 'walk'), { code: 1, stderr: /rig/ })
  const slow = await mine.withInput(
    'import time; time.sleep(3600)',
    'blender',
    'create',
    'Slow',
    '--script',
    '-',
    '--json',
  )
  const { id: made, jobId } = JSON.parse(slow.stdout)
  t.match(made, /^gen_/)
  t.match(await mine.gameyard('blender', 'cancel', made), { code: 0, stdout: `The job ${jobId} is cancelled.\n` })
  t.match(await mine.gameyard('blender', 'cancel', id), { code: 1, stderr: /completed/ })

  // The first script fails and the model corrects it, so the command must wait for the second job.
  let scripts = 0
  provider.answer = (request, response) => openai(scripts++ === 0 ? 'nothing_like_this()' : cone, 10)(request, response)
  const prompted = await mine.gameyard('blender', 'create', 'Small cone', '--prompt', 'A cone.', '--param', 'size=1')
  t.match(prompted, { code: 0, stdout: /^The script is being written\.\nNext: gameyard blender watch gen_\w{26}\n$/ })
  const generation = /gen_\w+/.exec(prompted.stdout)?.[0] as string
  t.match(await mine.json('blender', 'watch', generation), {
    id: generation,
    status: 'completed',
    assetId: /^ast_/,
    rounds: 2,
    job: { status: 'completed', name: 'Small cone' },
  })
  t.match(await mine.gameyard('blender', 'artifacts', generation), { code: 0, stdout: /model\.glb/ })
})

t.test('without Blender it says so, and what cannot be read is wrong usage', async (t) => {
  const platform = await startTestServer(t)
  const env = {
    SERVICE_API_TOKEN: await platform.token(['assets:read', 'assets:generate']),
    SERVICE_BASE_URL: platform.server.portal,
  }
  const { gameyard } = machine(t, env)
  t.match(await gameyard('blender', 'health'), { code: 0, stdout: /Blender is not available/ })
  t.match(await gameyard('blender', 'create', 'X', '--script', 'nothing.py'), {
    code: 2,
    stderr: /nothing\.py can't be read: it does not exist/,
  })
  t.match(await gameyard('blender', 'create', 'X', '--param', 'height'), {
    code: 2,
    stderr: /name=value[\s\S]*height=2\.5/,
  })
})
