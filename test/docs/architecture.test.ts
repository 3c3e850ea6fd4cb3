import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/** Returns the paths in backquotes that begin with a folder of the tree. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`([a-z][\w-]*\/[\w./-]*)`/g)].map(([, path]) => path as string)

t.test('every file that the architecture names is there', (t) => {
  const paths = pathsIn(readFileSync(join(root, 'docs/architecture.md'), 'utf8'))
  t.ok(paths.length > 50, `${paths.length} paths`)
  for (const path of new Set(paths)) t.ok(existsSync(join(root, path)), path)
  t.same(pathsIn('`core/none.ts` and `npm test`'), ['core/none.ts'])
  t.end()
})

t.test('every file that CONTRIBUTING and the READMEs of the rooms name is there', (t) => {
  for (const room of ['boot', 'data', 'http', 'jobs', 'observe', 'openapi', 'origins', 'pages']) {
    const text = readFileSync(join(root, 'core', room, 'README.md'), 'utf8')
    const files = [...text.matchAll(/`((?:\.\.\/)?[\w-]+\.ts)`/g)].map(([, file]) => file as string)
    t.ok(files.length > 0, room)
    for (const file of files) t.ok(existsSync(join(root, 'core', room, file)), `${room}: ${file}`)
  }
  for (const path of pathsIn(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')))
    t.ok(existsSync(join(root, path)), path)
  t.end()
})

t.test('every file that the README of a plugin names is there', (t) => {
  for (const plugin of readdirSync(join(root, 'plugins'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )) {
    const folder = join(root, 'plugins', plugin.name)
    const text = readFileSync(join(folder, 'README.md'), 'utf8')
    for (const [, path = ''] of text.matchAll(/`([a-z][\w./-]*\.(?:ts|py))`/g))
      t.ok(existsSync(join(folder, path)) || existsSync(join(root, path)), `${plugin.name}: ${path}`)
  }
  t.end()
})

t.test('the picture of the architecture is what the imports say', (t) => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'build/architecture.ts'), '--check'])
  t.equal(status, 0, String(stderr))
  t.end()
})
