import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { callFolderTool } from '../../../clients/cli/assistant/folder-tool.ts'
import { readBuild } from '../../../clients/cli/deploy/folder.ts'
import { CliError } from '../../../clients/cli/errors.ts'
import { timeLimit } from '../../kit/time-limit.ts'

t.test('of links only those to files of the build are published, and none to what never is', async (t) => {
  const folder = t.testdir({
    private: { 'key.txt': 'secret' },
    build: { 'index.html': '<!doctype html>', 'level.json': '{}', '.env': 'KEY=secret', '.git': { config: 'secret' } },
  })
  const build = join(folder, 'build')
  const link = (target: string, name: string) => symlinkSync(join(folder, target), join(build, name))
  link('build/level.json', 'same.json')
  link('private/key.txt', 'key.txt')
  link('private', 'folder')
  link('build/.env', 'settings.txt')
  link('build/.git/config', 'config.txt')
  link('nowhere', 'broken')
  const { files, leftOut } = await readBuild(build)
  t.same(
    files.map(({ path }) => path),
    ['index.html', 'level.json', 'same.json'],
  )
  t.same(leftOut, [
    '.env',
    '.git',
    'broken (a link to nothing)',
    'config.txt (a link to what is never published)',
    'folder (a link to what lies outside of the build)',
    'key.txt (a link to what lies outside of the build)',
    'settings.txt (a link to what is never published)',
  ])
})

t.test(
  'a link to a folder of the build is published, and one in a circle ends',
  { timeout: timeLimit(20) },
  async (t) => {
    const folder = t.testdir({ 'index.html': 'x', levels: { '1.json': '{}' }, a: {}, b: {} })
    symlinkSync(join(folder, 'levels'), join(folder, 'stages'))
    symlinkSync('../b', join(folder, 'a/to-b'))
    symlinkSync('../a', join(folder, 'b/to-a'))
    symlinkSync('..', join(folder, 'levels/up'))
    symlinkSync('.', join(folder, 'self'))
    const { files, leftOut } = await readBuild(folder)
    t.same(
      files.map(({ path }) => path),
      ['index.html', 'levels/1.json', 'stages/1.json'],
    )
    t.same(leftOut, [
      'a/to-b/to-a (a link to a folder around it)',
      'b/to-a/to-b (a link to a folder around it)',
      'levels/up (a link to a folder around it)',
      'self (a link to a folder around it)',
      'stages/up (a link to a folder around it)',
    ])
  },
)

t.test('what is no file is left out by name, and never read', { timeout: timeLimit(20) }, async (t) => {
  // The path of a socket has at most 107 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'build-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['index.html', 'Icon\r']) writeFileSync(join(folder, name), 'x')
  execFileSync('mkfifo', [join(folder, 'pipe'), join(folder, '.gameyardignore')])
  const server = createServer().listen(join(folder, 'socket'))
  t.teardown(() => server.close())
  await once(server, 'listening')
  symlinkSync('pipe', join(folder, 'link'))
  const { files, leftOut } = await readBuild(folder)
  t.same(
    files.map(({ path }) => path),
    ['index.html'],
  )
  t.same(leftOut, ['link (a link to a pipe)', 'pipe (a pipe)', 'socket (a socket)'])
})

type Files = NonNullable<Parameters<typeof t.testdir>[0]>

t.test('the only page is the start page; without one, the hint names what is there', async (t) => {
  const read = async (files: Files, name = '.') => readBuild(join(t.testdir(files), name))
  t.match(await read({ 'Story.html': 'x', 'a.png': '' }), {
    files: [{ path: 'a.png' }, { path: 'index.html', file: /Story\.html$/ }],
    startPage: 'Story.html',
  })
  t.match(await read({ 'my game.HTM': 'x' }, 'my game.HTM'), { files: [{ path: 'index.html', size: 1 }] })
  t.equal((await read({ 'index.html': 'x', 'b.html': '' })).startPage, undefined)
  for (const [files, hint] of [
    [{ 'Index.html': '', 'b.html': '' }, /There is Index\.html, b\.html\. Rename/],
    [{ www: { 'index.html': '' } }, /Did you mean: gameyard deploy .*www/],
    [{ x: { y: { 'index.html': '' } } }, /Did you mean: gameyard deploy .*x.y/],
    [{ 'a.js': '' }, /folder of the finished build/],
  ] as const) {
    await t.rejects(read(files), { code: 'no_build', hint }, String(hint))
  }
  await t.rejects(read({ 'a.zip': '' }, 'a.zip'), { code: 'no_build', message: /is no folder/ })
})

t.test('an assistant publishes no folder outside of its project, not even by a link', async (t) => {
  const folder = t.testdir({ private: { 'index.html': 'secret' }, project: { dist: { 'index.html': 'x' } } })
  const cwd = join(folder, 'project')
  symlinkSync(join(folder, 'private'), join(cwd, 'link'))
  symlinkSync(cwd, join(folder, 'same'))
  const get = async () => {
    throw new CliError('No game.', { code: 'not_found' })
  }
  const api = { get, all: async () => [] }
  const publish = async (folder: string, from = cwd) => {
    const connection = { api, questions: {}, notify: async () => {} } as never
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'x', arguments: { folder, game: 'x' } },
    }
    const surroundings = { cwd: from, stateFolder: folder, signal: new AbortController().signal }
    return JSON.stringify(await callFolderTool(connection, call as never, surroundings))
  }
  for (const outside of ['link', '..', '../private', join(folder, 'private')]) {
    t.match(await publish(outside), /is outside of this project/, outside)
  }
  t.match(await publish('dist'), /not_found/)
  t.match(await publish('dist', join(folder, 'same')), /not_found/, 'the project itself may be behind a link')
  t.notMatch(await publish('nowhere'), /is outside of this project/)
})

t.test('secrets, histories and what .gameyardignore lists stay where they are', async (t) => {
  const folder = t.testdir({ 'index.html': '<!doctype html>', '.gameyardignore': '*.psd\nnotes/\n', 'a.psd': '' })
  for (const name of ['.git', 'node_modules', 'notes', 'deep']) mkdirSync(join(folder, name))
  for (const name of ['.env', '.env.local', '.git/HEAD', 'node_modules/x.js', 'notes/todo', 'deep/.env', 'deep/kept'])
    writeFileSync(join(folder, name), 'x')
  const { files, leftOut } = await readBuild(folder)
  t.same(
    files.map(({ path }) => path),
    ['deep/kept', 'index.html'],
  )
  t.same(leftOut, ['.env', '.env.local', '.git', '2 entries by .gameyardignore', 'deep/.env', 'node_modules'].sort())
})
