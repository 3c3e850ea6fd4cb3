import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { inFull } from '../kit/extent.ts'
import { run, start, temporaryFolder } from './program.ts'

t.test('a backup of a running platform is restored into a new folder, and runs', async (t) => {
  const cwd = temporaryFolder(t)
  const server = start(t, ['serve', '--port', '0'], { cwd })
  await server.says('"ready"')
  t.match(await run(t, ['backup', 'copy.tar'], { cwd }), {
    code: 0,
    stdout: /^Wrote copy\.tar: the database, the keys and \d+ blobs/,
  })
  await inFull(t)?.test('a file that exists is refused', async (t) => {
    t.match(await run(t, ['backup', 'copy.tar'], { cwd }), {
      code: 1,
      stderr: /copy\.tar exists; choose another name\.\n$/,
    })
  })
  server.process.kill('SIGTERM')
  t.equal((await server.ended).code, 0)

  await inFull(t)?.test('a folder that is not empty is refused', async (t) => {
    t.match(await run(t, ['restore', 'copy.tar'], { cwd }), { code: 1, stderr: /data is not empty/ })
  })
  const { code, stdout } = await run(t, ['restore', 'copy.tar', '--data', 'again', '--json'], { cwd })
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { dataDir: join(cwd, 'again'), blobs: Number, bytes: Number })
  const secret = (folder: string) => readFileSync(join(cwd, folder, 'keys/secret'))
  t.strictSame(secret('again'), secret('data'))
  const tables = (folder: string) => {
    const database = new DatabaseSync(join(cwd, folder, 'gameyard.db'), { readOnly: true })
    const names = database.prepare("select name from sqlite_master where type = 'table' order by name").all()
    database.close()
    return names.map(({ name }) => name)
  }
  t.ok(tables('data').length > 0)
  t.strictSame(tables('again'), tables('data'))

  const revived = start(t, ['serve', '--port', '0', '--data', 'again'], { cwd })
  await revived.says('"ready"')
})

t.test('what can not be backed up or restored is one sentence', async (t) => {
  const cwd = temporaryFolder(t)
  t.match(await run(t, ['backup', 'copy.tar'], { cwd }), {
    code: 1,
    stderr: /^There is no data folder \S+ to back up[^\n]*\n$/,
  })
  t.notOk(existsSync(join(cwd, 'copy.tar')))
  writeFileSync(join(cwd, 'no.tar'), 'not a backup')
  t.match(await run(t, ['restore', 'no.tar'], { cwd }), { code: 1, stderr: /^[^\n]+\n$/ })
  t.notOk(existsSync(join(cwd, 'data')))
  await inFull(t)?.test('and a command without its argument is wrong usage', async (t) => {
    t.equal((await run(t, ['backup'], { cwd })).code, 2)
  })
})
