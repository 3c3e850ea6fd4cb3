// The rules of the house that a reader can't see from one file: which way imports run, and what may not be there.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'
import { plugins } from '../plugins/index.ts'

const root = resolve(import.meta.dirname, '..')
/** Made by the build, from the platform's own description. */
const GENERATED = 'clients/sdk/openapi.ts'
const sources = globSync('{bin,config,core,drivers,plugins,clients,build}/**/*.{ts,js,mjs}', { cwd: root }).filter(
  (file) => file !== GENERATED,
)

/** The project's own files that a source file imports, as paths from the root. */
function importsOf(text: string, file: string): string[] {
  const specifiers = [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) => match[1] as string)
  return specifiers.map((specifier) => relative(root, resolve(root, dirname(file), specifier)))
}

/** The kernel's rooms; each imports those before it. */
const ROOMS = ['observe', 'data', 'jobs', 'images', 'origins', 'http', 'pages', 'openapi', 'boot']
/** Files of the kernel that every room may import. */
const CONTRACTS = [
  'clock',
  'config',
  'driver',
  'errors',
  'events',
  'format-bytes',
  'ids',
  'plain-letters',
  'visible-text',
].map((name) => `core/${name}.ts`)

/** What a built-in driver may import of the rooms: the interface of its family, and parts without state. */
const FOR_DRIVERS = [
  'core/data/counters.ts',
  'core/data/database.ts',
  'core/data/durability/fsync.ts',
  'core/data/folders/make-folder.ts',
  'core/data/migrations.ts',
  'core/data/sharing/file-lock.ts',
  'core/jobs/worker-pool.ts',
]
/** What the suites of drivers use beside. */
const FOR_SUITES = ['core/data/consume-once.ts', 'core/observe/log.ts']

/** Whether a file of a driver family may import one of the kernel. */
const driverMayImport = (from: string, to: string) =>
  CONTRACTS.includes(to) || FOR_DRIVERS.includes(to) || (/\/conformance/.test(from) && FOR_SUITES.includes(to))

/** Whether a file of the kernel may import another: contracts below the rooms, `plugin.ts` and `kernel.ts` above. */
function mayImport(from: string, to: string): boolean {
  if (CONTRACTS.includes(to)) return true
  if (to === 'core/plugin.ts') return from.startsWith('core/boot/') || from === 'core/kernel.ts'
  if (CONTRACTS.includes(from)) return false
  const [own, other] = [from, to].map((file) => ROOMS.indexOf(file.split('/')[1] ?? '')) as [number, number]
  if (own === -1) return true
  return other !== -1 && other <= own
}

/** The sentence that a forbidden import earns, or null. */
function verdict(from: string, to: string): string | null {
  const [top = '', name = ''] = from.split('/')
  const [toTop = '', toName = ''] = to.split('/')
  const may = (...tops: string[]) =>
    tops.includes(toTop) ? null : `${from} imports ${to}: ${top} does not know ${toTop}`
  if (top === 'core' && toTop === 'core')
    return mayImport(from, to) ? null : `${from} imports ${to}: the kernel's rooms import each other one way`
  if (top === 'core') return may('core')
  if (top === 'config') return may('config', 'core')
  if (top === 'clients') return may('clients')
  if (top === 'drivers') {
    if (toTop === 'drivers')
      return toName === name || name.endsWith('.ts')
        ? null
        : `${from} imports ${to}: a driver knows its own family only`
    if (toTop !== 'core') return may('core')
    return driverMayImport(from, to) ? null : `${from} imports ${to}: a driver knows the contracts of the kernel only`
  }
  if (top === 'plugins' && name !== 'index.ts') {
    if (toTop === 'drivers')
      return to.endsWith('/interface.ts') ? null : `${from} imports ${to}: a plugin knows a family's interface only`
    if (toTop !== 'plugins') return may('core')
    if (toName === name) return null
    if (to !== `plugins/${toName}/index.ts`)
      return `${from} imports ${to}: another plugin is known by its index.ts only`
    const plugin = plugins.find((candidate) => candidate.name === name)
    return plugin?.dependencies.includes(toName) ? null : `${from} imports ${to}: ${name} does not declare ${toName}`
  }
  return null
}

t.test('imports run one way', async (t) => {
  for (const file of sources) {
    for (const to of importsOf(readFileSync(join(root, file), 'utf8'), file)) {
      const sentence = verdict(file, to)
      t.notOk(sentence, sentence ?? `${file} -> ${to}`)
    }
  }
})

t.test('the rules catch what they forbid', async (t) => {
  const forbidden: [string, string][] = [
    ['core/kernel.ts', 'plugins/games/index.ts'],
    ['core/kernel.ts', 'drivers/storage/local.ts'],
    ['core/pages/shell.ts', 'config/load.ts'],
    ['core/data/database.ts', 'core/http/auth.ts'],
    ['core/http/auth.ts', 'core/kernel.ts'],
    ['core/errors.ts', 'core/data/keys.ts'],
    ['config/load.ts', 'plugins/index.ts'],
    ['drivers/storage/s3.ts', 'plugins/games/index.ts'],
    ['drivers/storage/s3.ts', 'drivers/bus/redis.ts'],
    ['drivers/storage/s3.ts', 'core/http/auth.ts'],
    ['drivers/storage/s3.ts', 'core/plugin.ts'],
    ['drivers/database/sqlite.ts', 'core/observe/log.ts'],
    ['plugins/games/games.ts', 'drivers/storage/s3.ts'],
    ['plugins/games/games.ts', 'plugins/oauth-idp/players/players.ts'],
    ['plugins/oauth-idp/index.ts', 'plugins/games/index.ts'],
    ['plugins/games/games.ts', 'config/load.ts'],
    ['clients/browser/multiplayer.ts', 'core/errors.ts'],
  ]
  for (const [from, to] of forbidden) t.ok(verdict(from, to), `${from} -> ${to}`)
  t.equal(verdict('plugins/games/games.ts', 'drivers/storage/interface.ts'), null)
  t.equal(verdict('drivers/storage/s3.ts', 'core/driver.ts'), null)
})

t.test('the linter holds the same rules while one writes', async (t) => {
  // Beside a copy of the settings, so that nothing is written into the tree.
  const folder = t.testdir({
    'biome.json': readFileSync(join(root, 'biome.json'), 'utf8'),
    core: {
      'x.ts': "import '../plugins/games/index.ts'\n",
      data: { 'x.ts': "import '../http/auth.ts'\n" },
      http: { 'x.ts': "import '../kernel.ts'\n", inner: { 'x.ts': "import '../../pages/html.ts'\n" } },
      'errors.ts': "import './data/keys.ts'\n",
    },
    drivers: {
      storage: { 'x.ts': "import '../../plugins/games/index.ts'\n", 'y.ts': "import '../../core/http/auth.ts'\n" },
    },
    plugins: {
      games: { 'x.ts': "import '../../config/load.ts'\n", 'y.ts': "import './z.ts'\n", 'z.ts': "import './y.ts'\n" },
    },
    config: { 'x.ts': "import '../drivers/index.ts'\n" },
    clients: { 'x.ts': "import '../core/errors.ts'\n" },
  })
  const { stdout } = spawnSync(
    join(root, 'node_modules/.bin/biome'),
    ['lint', '--vcs-enabled=false', '--reporter=json', '--config-path', folder, folder],
    { cwd: folder, env: { PATH: process.env.PATH } },
  )
  const { diagnostics } = JSON.parse(String(stdout)) as {
    diagnostics: { category: string; location: { path: unknown } }[]
  }
  const broken = (rule: string, file: string) =>
    diagnostics.some(
      ({ category, location }) => category.endsWith(rule) && JSON.stringify(location.path).includes(file),
    )
  for (const top of ['core', 'drivers/storage', 'plugins/games', 'config', 'clients']) {
    t.ok(broken('noRestrictedImports', `${top}/x.ts`), top)
  }
  for (const file of [
    'drivers/storage/y.ts',
    'core/data/x.ts',
    'core/http/x.ts',
    'core/http/inner/x.ts',
    'core/errors.ts',
  ]) {
    t.ok(broken('noRestrictedImports', file), file)
  }
  t.ok(broken('noImportCycles', 'plugins/games/y.ts'), 'a circle')
})

/** Where the time of the system is read: at the edge, and beside the times of files, which are those of the system. */
const SYSTEM_TIME = [
  'core/clock.ts',
  'core/data/backups/working-folder.ts',
  'core/data/disk-cache.ts',
  'core/data/moving/write-gate.ts',
  'core/observe/log.ts',
  'plugins/games/cards/cards.ts',
]

t.test('everything else gets its time from the given clock', (t) => {
  const found = sources.filter(
    (file) =>
      /^(core|config|drivers|plugins)\//.test(file) &&
      !/\/(conformance|islands)/.test(file) &&
      /\bDate\.now\(\)|\bnew Date\(\)/.test(readFileSync(join(root, file), 'utf8')),
  )
  t.same(found.sort(), SYSTEM_TIME)
  t.end()
})

/** Insertions outside of a transaction, which no request makes for a caller. */
const FOR_NOBODY = [
  'plugins/blender/worker/worker.ts',
  'plugins/game-edge/files/site-owners.ts',
  'plugins/oauth-idp/apps/registrations.ts',
  'plugins/oauth-idp/oauth/device-codes.ts',
  'plugins/oauth-idp/oauth/signing-keys.ts',
  'plugins/saves/values/blobs.ts',
]

t.test('whatever a request adds is added in a transaction, which reads the caller again', (t) => {
  const alone = /\bem\(\)\s*\.(insert|insertMany|upsert|upsertMany)\(|db\.execute\(\s*[`'"]\s*insert/
  const found = sources.filter(
    (file) => file.startsWith('plugins/') && alone.test(readFileSync(join(root, file), 'utf8')),
  )
  t.same(found.sort(), FOR_NOBODY)
  t.end()
})

t.test('the index.ts of a plugin only wires: it has less than 60 lines without imports and exports', (t) => {
  for (const file of globSync('plugins/*/index.ts', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8')
    const rest = text.replace(/^(import|export (type )?[{*])[^']*'[^']+'\n/gm, '')
    const lines = rest.split('\n').filter((line) => line.trim() !== '').length
    t.ok(lines < 60, `${file}: ${lines} lines`)
  }
  t.end()
})

t.test('one function knows what the databases call a value that is there already', (t) => {
  const named = /UniqueConstraintViolation|23505|CONSTRAINT_(UNIQUE|PRIMARYKEY)/
  const found = sources.filter((file) => named.test(readFileSync(join(root, file), 'utf8')))
  t.same(found.sort(), ['core/data/database.ts', 'drivers/database/conformance.ts'])
  t.end()
})

t.test('every document that a source file cites is there', async (t) => {
  for (const file of sources) {
    const text = readFileSync(join(root, file), 'utf8')
    t.notMatch(text, /\bcontracts,? section\b|\bsection \d+ of the contracts\b/, file)
    for (const [path] of text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)) t.ok(existsSync(join(root, path)), `${file}: ${path}`)
  }
})

t.test('there is no junk drawer, and no file that is two ideas', async (t) => {
  for (const file of sources) {
    t.notMatch(file, /(^|\/)(utils?|helpers?|misc|common)(\.|\/)/, file)
    t.ok(readFileSync(join(root, file), 'utf8').split('\n').length <= 401, `${file} has 400 lines or fewer`)
  }
})

t.test('no literal is spread into another, only to keep its parts on one line', async (t) => {
  const spread = /\.\.\.\{|^\s*\.\.\.\[[^\n]*\],?$/m
  for (const file of sources) t.notMatch(readFileSync(join(root, file), 'utf8'), spread, file)
})

/** One circle of imports, as a chain of files, or null. */
function circleIn(graph: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>()
  const visit = (file: string, path: string[]): string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return null
    for (const next of graph.get(file) ?? []) {
      const circle = visit(next, [...path, file])
      if (circle) return circle
    }
    done.add(file)
    return null
  }
  for (const file of graph.keys()) {
    const circle = visit(file, [])
    if (circle) return circle
  }
  return null
}

t.test('no files import each other in a circle, not even for a type', (t) => {
  const graph = new Map(sources.map((file) => [file, importsOf(readFileSync(join(root, file), 'utf8'), file)]))
  t.equal(circleIn(graph)?.join(' -> ') ?? null, null)
  const types = importsOf("import type { B } from './b.ts'", 'core/a.ts')
  t.same(circleIn(new Map(Object.entries({ 'core/a.ts': types, 'core/b.ts': ['core/a.ts'] }))), [
    'core/a.ts',
    'core/b.ts',
    'core/a.ts',
  ])
  t.end()
})

t.test('every room of the kernel is known to the rule, and none has more than 20 files of code', (t) => {
  const folders = readdirSync(join(root, 'core'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  t.same(folders.map(({ name }) => name).sort(), [...ROOMS].sort())
  for (const room of ROOMS) {
    const files = globSync('*.ts', { cwd: join(root, 'core', room) })
    t.ok(files.length > 0 && files.length <= 20, `${room} has ${files.length} files`)
  }
  t.end()
})

/** Folders for developers, who share them as they like. */
const FOR_DEVELOPERS = ['bin/commands/blender.ts', 'bin/commands/new.ts']

t.test('folders of the platform are made by one function, so that only its user can enter them', (t) => {
  const alone = /mkdir\([^\n]*recursive: true/
  const found = sources.filter(
    (file) => /^(bin|core|drivers|plugins)\//.test(file) && alone.test(readFileSync(join(root, file), 'utf8')),
  )
  t.same(found.sort(), FOR_DEVELOPERS)
  t.end()
})
