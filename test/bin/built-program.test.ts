import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { builtProgram, FOLDER } from '../../bin/built-program.js'

t.test('the built program is taken while none of its sources is newer', async (t) => {
  const root = t.testdir({ 'a.ts': '', 'b.ts': '' })
  const built = Date.now()
  const touch = (name: string, ms: number) => utimesSync(join(root, name), ms / 1000, ms / 1000)
  for (const name of ['a.ts', 'b.ts']) touch(name, built - 1000)
  t.equal(builtProgram(root), null, 'nothing is built')

  mkdirSync(join(root, FOLDER), { recursive: true })
  const current = join(root, FOLDER, 'current.json')
  writeFileSync(current, JSON.stringify({ entry: 'x/main.js', builtAt: built, inputs: ['a.ts', 'b.ts'] }))
  t.equal(builtProgram(root), join(root, FOLDER, 'x/main.js'))
  touch('b.ts', built + 1000)
  t.equal(builtProgram(root), null, 'a source was changed')
  rmSync(join(root, 'b.ts'))
  t.equal(builtProgram(root), null, 'a source was removed')
  writeFileSync(current, '{"entry":"x/ma')
  t.equal(builtProgram(root), null, 'what is broken counts as nothing')
})
