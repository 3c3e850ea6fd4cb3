import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readBuild } from '../../../clients/cli/deploy/folder.ts'

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
