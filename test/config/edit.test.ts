import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { editConfig } from '../../config/edit.ts'

const folder = mkdtempSync(join(tmpdir(), 'gameyard-edit-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'gameyard.yaml')
const changes = [
  { path: ['portal', 'url'], value: 'https://yard.example.org' },
  { path: ['portal', 'formerUrls'], value: ['http://localhost:8080'] },
]

t.test('keys are set where they belong, and all else stays', async (t) => {
  for (const [text, expected] of [
    ['', { portal: { url: 'https://yard.example.org' } }],
    ['portal:\n', { portal: { url: 'https://yard.example.org' } }],
    [
      '# mine\nlisten: { port: 9000 } # the proxy knows\nportal:\n  # a name\n  name: Ours\n  url: http://old:1\n',
      { listen: { port: 9000 }, portal: { name: 'Ours', url: 'https://yard.example.org' } },
    ],
    ['portal: { name: Ours }\n', { portal: { name: 'Ours', formerUrls: ['http://localhost:8080'] } }],
  ] as const) {
    writeFileSync(file, text)
    await editConfig(file, changes)
    const written = readFileSync(file, 'utf8')
    t.match(parse(written), expected)
    for (const comment of text.match(/#.*/g) ?? []) t.ok(written.includes(comment), comment)
  }
  chmodSync(file, 0o640)
  await editConfig(file, changes)
  t.equal(statSync(file).mode & 0o777, 0o640)
  rmSync(file)
  await editConfig(file, changes)
  t.equal(parse(readFileSync(file, 'utf8')).portal.url, 'https://yard.example.org')
})

t.test('what is no configuration stays as it is', async (t) => {
  for (const text of ['[1, 2]', 'a: b: c', 'just text']) {
    writeFileSync(file, text)
    await t.rejects(editConfig(file, changes), { name: 'StartupError', message: /is no configuration/ })
    t.equal(readFileSync(file, 'utf8'), text)
  }
  await t.rejects(editConfig(join(folder, 'none', 'gameyard.yaml'), changes), {
    message: /can't be written \(ENOENT\)/,
  })
  t.same(readdirSync(folder), ['gameyard.yaml'])
})
