import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { run as gameyard } from '../../bin/program.ts'
import { ALL, inFull } from '../../kit/extent.ts'

const project = join(import.meta.dirname, '../../..')

/** Returns the text of each TypeScript block in a document, by the file name at the start of the previous paragraph. */
async function filesOf(document: string): Promise<Record<string, string>> {
  const text = await readFile(join(project, document), 'utf8')
  const blocks = text.matchAll(/^`(\S+\.ts)`[\s\S]*?^```ts run\n([\s\S]*?)^```$/gm)
  return Object.fromEntries([...blocks].map(([, name, code]) => [name, code]))
}

const files = await filesOf('docs/writing-a-driver.md')

/** Writes the files of the guide into an empty folder. */
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-docs-'))
  t.teardown(() => rm(folder, { recursive: true }))
  for (const [name, code] of Object.entries(files)) await writeFile(join(folder, name), code)
  return folder
}

const folder = await newFolder()

/** Runs a program. Returns its whole output and its exit code. */
function run(program: string, args: string[], cwd: string): Promise<{ code: unknown; output: string }> {
  const { PATH, HOME } = process.env
  return new Promise((resolve) =>
    execFile(program, args, { cwd, env: { PATH, HOME } }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, output: out + err }),
    ),
  )
}

t.test('the driver in docs/writing-a-driver.md passes the suite, word for word', async (t) => {
  t.same(Object.keys(files), ['memory-storage.ts', 'memory-storage.test.ts'])
  const file = join(folder, 'memory-storage.test.ts')
  // npm first looks whether anything has to be built.
  const { code, output } = ALL
    ? await run('npm', ['run', 'driver-suite', '--', file], project)
    : await run(process.execPath, ['build/driver-suite.mjs', file], project)
  t.equal(code, 0, { output: code === 0 ? '' : output.slice(-4000) })
  const { total, pass } = /# \{ total: (?<total>\d+), pass: (?<pass>\d+)/.exec(output)?.groups ?? {}
  t.ok(Number(total) > 150, `${total} assertions ran`)
  t.ok(Number(pass) > 150, `${pass} passed`)
})

inFull(t)?.test('its types are right under our own compiler settings', async (t) => {
  // A compiler needs the packages, as an author of a package has them.
  const folder = await newFolder()
  await mkdir(join(folder, 'node_modules'))
  await symlink(project, join(folder, 'node_modules/gameyard'))
  for (const name of ['tap', 'typebox', '@types'])
    await symlink(join(project, 'node_modules', name), join(folder, 'node_modules', name))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  const { compilerOptions } = JSON.parse(await readFile(join(project, 'tsconfig.json'), 'utf8'))
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  // This runs the compiler directly: every Node process below a test gets tap's loader, which breaks its Node launcher.
  const { default: getExePath } = await import('../../../node_modules/typescript/lib/getExePath.js')
  const { code, output } = await run(getExePath(), ['-p', '.'], folder)
  t.equal(code, 0, { output })
})

t.test('the configuration that names it is right', async (t) => {
  const guide = await readFile(join(project, 'docs/writing-a-driver.md'), 'utf8')
  const [, configuration = ''] = /^```yaml run\n([\s\S]*?)^```$/m.exec(guide) ?? []
  await writeFile(join(folder, 'gameyard.yaml'), configuration)
  const check = (t: Test) => gameyard(t, ['config', 'check'], { cwd: folder })
  if (ALL) t.match(await check(t), { code: 0 })
  await writeFile(join(folder, 'gameyard.yaml'), configuration.replace('maxBytes', 'maxByte'))
  t.match(await check(t), { code: 1, stderr: /maxBytes/ })
})
