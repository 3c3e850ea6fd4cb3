import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Credentials } from '../../../clients/cli/credentials.ts'
import { type Check, diagnose } from '../../../clients/cli/doctor.ts'
import { chooseBaseUrl } from '../../../clients/cli/platform.ts'
import { findProject } from '../../../clients/cli/project.ts'

/** Returns the findings of a folder, by name. */
async function findingsOf(cwd: string, url?: string): Promise<Record<string, Omit<Check, 'name'>>> {
  const credentials = new Credentials(join(cwd, 'config'))
  const project = () => findProject(cwd)
  const baseUrl = async () => chooseBaseUrl({ url, env: {}, projectUrl: (await project())?.baseUrl }, credentials)
  const found: Record<string, Omit<Check, 'name'>> = {}
  for await (const { name, ...check } of diagnose({ credentials, env: {}, url, project, baseUrl, userAgent: 'test' })) {
    found[name] = check
  }
  return found
}

/** Starts a server that gives the same answer to everything. */
async function startServer(t: Test, answers: Record<string, string>): Promise<string> {
  const server = createServer(({ url = '' }, response) => void response.end(answers[url] ?? 'It works!'))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('an address that is none is a finding', async (t) => {
  const cwd = t.testdir({ config: {} })
  t.match(await findingsOf(cwd, 'ftp://yard.example.org'), {
    Connection: { status: 'failed', message: /--url is no address of a platform/, hint: /https:/ },
  })
})

t.test('a gameyard.json that is damaged is one finding, and one without a game says so', async (t) => {
  const cwd = t.testdir({ config: {}, dist: { 'index.html': '' }, 'gameyard.json': '{' })
  const found = await findingsOf(cwd)
  t.match(found['gameyard.json'], { status: 'failed' })
  t.notOk(found.Connection)
  writeFileSync(join(cwd, 'gameyard.json'), JSON.stringify({ folder: 'dist' }))
  t.match((await findingsOf(cwd, 'http://127.0.0.1:9'))['gameyard.json'], { status: 'ok', message: /^no game yet / })
})

t.test('a server that is no platform is not taken for one', async (t) => {
  const cwd = t.testdir({ config: {} })
  const foreign = { status: 'failed', message: /not as a Gameyard platform does/, hint: /address/ }
  t.match(await findingsOf(cwd, await startServer(t, {})), { Connection: foreign })
  const half = await startServer(t, { '/healthz': '{"status":"ok"}' })
  t.match(await findingsOf(cwd, half), { Connection: { status: 'ok' }, Platform: foreign })
  const whole = await startServer(t, { '/healthz': '{"status":"ok"}', '/readyz': '{"checks":{"database":"ok"}}' })
  t.match(await findingsOf(cwd, whole), { Connection: { status: 'ok' }, Platform: { status: 'ok' } })
})
