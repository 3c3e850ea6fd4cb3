import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { callFolderTool } from '../../../clients/cli/assistant/folder-tool.ts'
import { readBuild } from '../../../clients/cli/deploy/folder.ts'
import { CliError } from '../../../clients/cli/errors.ts'

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
  t.match(leftOut.join('\n'), /key\.txt \(a link to what is not published\)/)
  t.equal(leftOut.length, 7, leftOut.join(', '))
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
