import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hasPrograms } from '../../kit/blender.ts'
import { ask } from '../../kit/upload.ts'
import { machine, startYard, terminalOf } from './kit.ts'

t.test('Blender jobs are followed, fetched, gone on with and stopped from the terminal', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const yard = await startYard(t)
  const { portal } = yard.server
  const token = await yard.token(['assets:read', 'assets:write', 'assets:generate'])
  const mine = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: portal })
  const terminal = await terminalOf(t, mine)
  if (!terminal) return
  const submit = async (body: object) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await ask('POST', `${portal}/api/blender/v1/jobs`, { headers, body })).body.id as string
  }
  t.match(await mine.gameyard('blender', 'health'), { code: 0, stdout: /^Blender \d+\.\d+.* 0 queued/ })
  t.match(await mine.gameyard('blender', 'templates'), { code: 0, stdout: /^TEMPLATE .*\n[\s\S]*\ntree +kind/ })

  const id = await submit({ name: 'Oak', template: 'tree' })
  await terminal.type(`gameyard blender watch ${id}`)
  await terminal.sees(/Completed Oak in [\d.]+ s: model\.glb, preview\.png/)
  t.match(await mine.gameyard('blender', 'jobs'), { stdout: new RegExp(`^JOB.*\\n${id} +completed +create`) })
  t.match(await mine.json('blender', 'artifacts', id, '--all', 'made'), { saved: [{ file: /^made\// }, {}, {}, {}] })
  t.equal(readFileSync(join(mine.cwd, 'made/model.glb')).subarray(0, 4).toString(), 'glTF')
  t.match(await mine.gameyard('blender', 'artifacts', id, 'nothing.txt'), { code: 1 })

  writeFileSync(join(mine.cwd, 'broken.py'), 'raise Exception("no roots")\n')
  t.match(await mine.gameyard('blender', 'revise', id, '--script', 'broken.py', '--wait'), {
    code: 1,
    stderr: /failed: .*no roots\n {2}Mend the script/,
  })
  const queued = await mine.json('blender', 'revise', id, '--action', 'render')
  t.match(await mine.json('blender', 'cancel', queued.id), { id: queued.id })
  t.match(await mine.json('blender', 'watch', queued.id), { error: { code: 'cancelled' } })
})

t.test('without Blender it says so, and what can not be read is wrong usage', async (t) => {
  const yard = await startYard(t, { config: { blender: { driver: 'none' } } })
  const env = {
    SERVICE_API_TOKEN: await yard.token(['assets:read', 'assets:generate']),
    SERVICE_BASE_URL: yard.server.portal,
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
