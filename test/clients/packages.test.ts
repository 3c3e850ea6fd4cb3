// Tests the published packages: their content, their size, and that they work without any other files.
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import t from 'tap'
import { ALL, inFull } from '../kit/extent.ts'
import { type FreshProject, freshProject, packClient, plainEnvironment } from '../kit/packages.ts'
import { startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'

const root = resolve(import.meta.dirname, '../..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The entries of each package, with the gzipped bytes that a game downloads or loads for each. */
const BUDGETS: Record<string, { code: string; bytes: number; external?: string[] }[]> = {
  sdk: [
    { code: "import { createClient } from '@gameyard/sdk'; globalThis.x = createClient", bytes: 6500 },
    {
      code: "import { createConnection, getAsset } from '@gameyard/sdk'; globalThis.x = [createConnection, getAsset]",
      // Of these, 700 are for answers that are cut, stall, or are not the platform's.
      bytes: 3200,
    },
    { code: "import { assetUrl } from '@gameyard/sdk'; globalThis.x = assetUrl", bytes: 400 },
  ],
  browser: [
    { code: "import { mount } from '@gameyard/browser'; globalThis.x = mount", bytes: 3000 },
    { code: "import { join } from '@gameyard/browser/multiplayer'; globalThis.x = join", bytes: 5000 },
    { code: "import { saves } from '@gameyard/browser/saves'; globalThis.x = saves", bytes: 10_000 },
    { code: "import { generate } from '@gameyard/browser/ai'; globalThis.x = generate", bytes: 1500 },
    { code: "import { mountWidget } from '@gameyard/browser/widget'; globalThis.x = mountWidget", bytes: 3500 },
  ],
  engines: [],
  room: [],
  adapter: [
    {
      code: "import { createAuth } from '@gameyard/adapter'; globalThis.x = createAuth",
      bytes: 6000,
      external: ['jose'],
    },
  ],
}

/**
 * Returns the gzipped bytes that are loaded at once. What the package imports only when it is needed (`import()`) is not
 * among them: bundlers put it into a file of its own.
 */
async function weigh({ folder }: FreshProject, code: string, external: string[] = []): Promise<number> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: folder,
    stdin: { contents: code, resolveDir: folder },
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    metafile: true,
    outdir: 'bundle',
    format: 'esm',
    external,
  })
  const loaded = new Set(
    Object.keys(metafile.outputs).filter((path) => metafile.outputs[path]?.entryPoint === '<stdin>'),
  )
  // A set also visits what is added meanwhile.
  for (const path of loaded) {
    for (const { path: imported, kind } of metafile.outputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && imported in metafile.outputs) loaded.add(imported)
    }
  }
  const sizes = outputFiles
    .filter(({ path }) => loaded.has(relative(folder, path)))
    .map(({ contents }) => gzipSync(contents, { level: 9 }).length)
  return sizes.reduce((sum, size) => sum + size, 0)
}

const names = Object.keys(BUDGETS)
/** The short form installs all packages in one folder, which spares two runs of npm. */
const together = ALL ? null : names.map((name) => packClient(t, name))
const shared = together && freshProject(t, together)

for (const [index, name] of names.entries()) {
  t.test(`@gameyard/${name}, packed and installed in a fresh folder`, { timeout: timeLimit(120) }, async (t) => {
    const packed = together?.[index] ?? packClient(t, name)
    t.equal(packed.name, `@gameyard/${name}`)
    for (const path of ['package.json', 'README.md', 'LICENSE']) t.ok(packed.files.includes(path), path)
    t.same(
      packed.files.filter((path) => !/\.(js|d\.ts|jslib|cs|gd|h)$|^(package\.json|README\.md|LICENSE)$/.test(path)),
      [],
      'nothing else',
    )
    t.ok(packed.size < 80 * 1024, `${packed.size} bytes`)

    const project = shared ?? freshProject(t, [packed])
    const installed = join(project.folder, 'node_modules/@gameyard', name)
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    t.match(manifest, { version, license: 'MIT', type: 'module' })
    t.ok('sideEffects' in manifest, 'bundlers are told what may be left out')
    for (const [entry, files] of Object.entries<Record<string, string> | string>(manifest.exports)) {
      for (const file of typeof files === 'string' ? [files] : Object.values(files)) {
        t.ok(packed.files.includes(file.slice(2)), `${entry} is at ${file}`)
      }
    }
    for (const { code, bytes, external } of BUDGETS[name] ?? []) {
      const weight = await weigh(project, code, external)
      t.ok(weight <= bytes, `${weight} of ${bytes} bytes: ${code}`)
    }
  })
}

inFull(t)?.test(
  'a developer’s program in a fresh folder: it runs, and its types hold',
  { timeout: timeLimit(120) },
  async (t) => {
    const platform = await startPlatform(t, { listen: true })
    const { token } = await platform.program(await platform.signUp({ name: 'Ada' }))
    const project = freshProject(t, [packClient(t, 'sdk'), packClient(t, 'adapter'), packClient(t, 'browser')])
    const readme = readFileSync(join(project.folder, 'node_modules/@gameyard/sdk/README.md'), 'utf8')
    const [, example = ''] = /```js\n([\s\S]+?)```/.exec(readme) ?? []
    project.write({
      'example.js': example,
      'main.ts': `
      import { createClient, type Game } from '@gameyard/sdk'
      import { createAuth, type GameSession } from '@gameyard/adapter'
      import { mount } from '@gameyard/browser'
      import { join, type Player } from '@gameyard/browser/multiplayer'
      export const name = async () => (await mount('#player', { gameName: 'Pong' })).session.user?.name
      export const others = async (): Promise<Player[]> => (await join('lobby')).players
      const client = createClient({ baseUrl: 'http://localhost:8080' })
      export const title = async (): Promise<string> => (await client.games.get('x')).title
      export const covers: (game: Game) => string | null = (game) => game.coverUrl
      export const session = (request: Request): Promise<GameSession> => createAuth().getSession(request)
      // @ts-expect-error it is a number of plays
      export const plays: (game: Game) => string = (game) => game.stats.plays
    `,
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          strict: true,
          noEmit: true,
          module: 'nodenext',
          target: 'es2022',
          lib: ['es2022', 'dom', 'dom.iterable'],
          types: [],
        },
        files: ['main.ts'],
      }),
    })
    const env = { PATH: process.env.PATH, SERVICE_BASE_URL: platform.portal, SERVICE_API_TOKEN: token as string }
    // The call must not block, because the platform answers from this process.
    const { stdout } = await promisify(execFile)(process.execPath, ['example.js'], { cwd: project.folder, env })
    t.match(stdout, /name: 'Ada'/, 'the example of the README')
    const oldest = process.env.GAMEYARD_NODE_18
    await t.test('on Node 18, the oldest that the SDK promises', async (t) => {
      if (!oldest) {
        if (process.env.CI) return t.fail('GAMEYARD_NODE_18 names no Node 18')
        return t.pass('skipped: GAMEYARD_NODE_18 names no Node 18', { skip: 'no Node 18' })
      }
      project.write({
        'oldest.js': `
        import { ApiError, createClient } from '@gameyard/sdk'
        const client = createClient({ baseUrl: process.env.SERVICE_BASE_URL, token: process.env.SERVICE_API_TOKEN })
        const game = await client.games.create({ title: 'Pong', description: 'Bats and a ball.' })
        const titles = []
        for await (const asset of client.listAssets()) titles.push(asset.title)
        const missing = await client.games.get('nothing').catch((error) => error)
        const given = await client.games.get(game.id, { signal: AbortSignal.abort() }).catch((error) => error.name)
        console.log(process.version, game.title, titles.length, missing instanceof ApiError && missing.status, given)
      `,
      })
      // This omits the test runner's options for Node, which this old version does not support.
      const run = (file: string) =>
        promisify(execFile)('env', ['-u', 'NODE_OPTIONS', oldest, file], { cwd: project.folder, env })
      t.match((await run('example.js')).stdout, /name: 'Ada'/)
      t.match((await run('oldest.js')).stdout, /^v18\.\S+ Pong 0 404 AbortError\n$/)
    })
    const tsc = join(root, 'node_modules/typescript/lib/tsc.js')
    t.equal(
      String(execFileSync(process.execPath, [tsc, '-p', project.folder], { env: plainEnvironment() })),
      '',
      'no complaint of the compiler',
    )
  },
)
