// How many processes serve (`listen.processes`).
import { join } from 'node:path'
import t from 'tap'
import { processCount } from '../../config/processes.ts'
import type { Config } from '../../core/config.ts'
import { folderWith } from './kit.ts'

const NONE = { driver: 'none' }

const count = (processes: number | 'auto', cores: number, { blender = NONE as object, path = '' } = {}) =>
  processCount({ listen: { processes }, blender } as unknown as Config, { cores, path })

t.test('one process has no supervisor, and a number is that number', async (t) => {
  t.equal(count(1, 16), null)
  t.equal(count(3, 1), 3)
})

t.test('auto is the number of cores, eight at most', async (t) => {
  t.same(
    [1, 2, 4, 8, 16, 64].map((cores) => count('auto', cores)),
    [1, 2, 4, 8, 8, 8],
  )
})

t.test('auto leaves a core to Blender where it runs on this machine', async (t) => {
  const folder = folderWith(t)
  const here = { driver: 'subprocess', command: process.execPath, capacity: 1 }
  const counts = (blender: object, path?: string) =>
    [1, 4, 16].map((cores) => count('auto', cores, { blender, ...(path === undefined ? {} : { path }) }))
  t.same(counts(here), [1, 3, 8])
  t.same(counts({ ...here, capacity: 0 }), [1, 4, 8], 'jobs run elsewhere')
  t.same(counts({ ...here, command: join(folder, 'blender') }), [1, 4, 8], 'it is not installed')
  const [name = ''] = process.execPath.split('/').slice(-1)
  t.same(counts({ ...here, command: name }, join(process.execPath, '..')), [1, 3, 8], 'found in PATH')
  t.same(counts({ ...here, command: name }, folder), [1, 4, 8], 'not in PATH')
  t.same(counts({ driver: 'docker' }), [1, 3, 8], "this machine's Docker")
  t.same(counts({ driver: 'docker', url: 'tcp://render:2375' }), [1, 4, 8], 'a Docker elsewhere')
})
