// Tests the plugin in docs/writing-a-plugin.md verbatim: its types, its configuration, and its behaviour on a server.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { EXTENSION_MODULES } from '../../bin/extension-modules.ts'
import { run } from '../bin/program.ts'
import { inFull } from '../kit/extent.ts'
import { plainEnvironment } from '../kit/packages.ts'
import { startServer } from '../kit/server.ts'
import { ask } from '../kit/upload.ts'
import { blocksOf, guideText } from './blocks.ts'

const project = join(import.meta.dirname, '../..')

const blocks = blocksOf(guideText('writing-a-plugin'))

/** Writes the files of the guide into an empty folder. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-plugin-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const { file, code } of blocks) if (file) writeFileSync(join(folder, file), code)
  return folder
}

/** Uses the event that the guide declares, and what a row that counts once needs. */
const EMITS = `import type { Events } from 'gameyard/events'
import { consumeOnce } from 'gameyard/tables'

export const emit = (events: Events) => events.emit('guestbook.written', { lineId: 'gbl_1' })
export const consume: Parameters<typeof consumeOnce>[0] | null = null
`

const folder = newFolder()
const configuration = blocks.find(({ language, mark }) => language === 'yaml' && mark === 'run')?.code ?? ''

inFull(t)?.test('its types are right under our own compiler settings', async (t) => {
  // A compiler needs the packages, as an author of a package has them.
  const folder = newFolder()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(project, join(folder, 'node_modules/gameyard'))
  for (const name of ['typebox', '@types', 'fastify'])
    symlinkSync(join(project, 'node_modules', name), join(folder, 'node_modules', name))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const { language, mark, code, line } of blocks)
    if (language === 'ts' && mark === 'shown') writeFileSync(join(folder, `line-${line}.ts`), code)
  writeFileSync(join(folder, 'emit.ts'), EMITS)
  const { compilerOptions } = JSON.parse(readFileSync(join(project, 'tsconfig.json'), 'utf8'))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const { default: getExePath } = await import('../../node_modules/typescript/lib/getExePath.js')
  const output = await new Promise<string>((resolve) =>
    execFile(getExePath(), ['-p', '.'], { cwd: folder, env: plainEnvironment() }, (_error, out, err) =>
      resolve(out + err),
    ),
  )
  t.equal(output, '')
})

t.test('it names every module that a plugin may import', (t) => {
  const [, list = ''] = /\*\*Your module may import\*\*([\s\S]*?)\. /.exec(guideText('writing-a-plugin')) ?? []
  const names = Object.keys(EXTENSION_MODULES).map((name) =>
    name.replace('gameyard/', '').replace(/^drivers\/.*/, 'drivers/…'),
  )
  const named = [...list.matchAll(/`(?:gameyard\/)?([^`]+)`/g)].map(([, name]) => name)
  t.same(named.sort(), [...new Set(names)].filter((name) => name !== 'typebox').sort())
  t.end()
})

t.test('its settings are checked like any other', async (t) => {
  writeFileSync(join(folder, 'gameyard.yaml'), configuration.replace('title:', 'titel:'))
  t.match(await run(t, ['config', 'check'], { cwd: folder }), { code: 1, stderr: /did you mean `title`/ })
})

t.test('players leave lines that everyone reads', async (t) => {
  const options = { folder, config: { ...parse(configuration), blender: { driver: 'none' } } }
  const server = await startServer(t, options)
  const url = (path: string, { portal } = server) => portal + path
  t.same((await ask('GET', url('/api/guestbook'))).body, { lines: [] }, 'as the guide says')
  const origin = server.portal
  const body = { email: 'ada@example.org', password: 'correct yard battery fence', name: 'Ada' }
  const signedUp = await ask('POST', url('/api/auth/sign-up'), { headers: { origin }, body })
  const cookie = [signedUp.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0] ?? ''
  const form = { cookie, origin, 'content-type': 'application/x-www-form-urlencoded' }
  const write = (text: string, headers: Record<string, string> = form) =>
    ask('POST', url('/guestbook'), { headers, body: `text=${encodeURIComponent(text)}` })

  t.match(await write('<b>Hello</b>'), { status: 303 })
  t.match(await write('Again'), { status: 429 }, 'its own error')
  t.match(await write(''), { status: 400 }, 'its schema')
  const { cookie: _none, ...nobody } = form
  t.match((await write('x', nobody)).status, 303, 'a page sends whoever is not signed in to sign in')
  t.match((await ask('GET', url('/api/guestbook'))).body, {
    lines: [{ id: /^gbl_/, name: 'Ada', text: '<b>Hello</b>' }],
  })
  const page = (await ask('GET', url('/guestbook'), { headers: { cookie } })).body
  t.match(page, /<h1>Visitors<\/h1>/, 'the title of the configuration')
  t.match(page, /<strong>Ada<\/strong> &lt;b>Hello/, 'what people write is text')
  t.match(page, /<a[^>]*href="\/guestbook"[^>]*>Visitors<\/a>/, 'its entry in the bar')
  t.ok((await ask('GET', url('/openapi.json'))).body.paths['/api/guestbook'], 'its route in the reference')

  const { body: exported } = await ask('GET', url('/settings/export'), { headers: { cookie } })
  t.match(exported.guestbook, [{ text: '<b>Hello</b>' }], 'what a player takes along')

  t.equal(await server.stop(), 0)
  writeFileSync(join(folder, 'target.yaml'), 'dataDir: moved\nplugins: { ./guestbook.ts: true }\n')
  t.match(await run(t, ['move', '--to', 'target.yaml'], { cwd: folder }), { code: 0 }, 'its table is moved')

  // The name of the cookie has the port.
  const { port } = server
  const config = { ...options.config, plugins: { './guestbook.ts': false } }
  const off = await startServer(t, { ...options, port, config })
  t.equal((await ask('GET', url('/guestbook', off))).status, 404)
  const mine = { headers: form, body: `password=${encodeURIComponent(body.password)}` }
  const deleted = await ask('POST', url('/settings/delete', off), mine)
  t.match(deleted, { status: 303, headers: { location: '/sign-in?done=deleted' } })
  t.equal(await off.stop(), 0)
  const again = await startServer(t, options)
  t.same((await ask('GET', url('/api/guestbook', again))).body, { lines: [] }, 'the lines ended with the account')
})
