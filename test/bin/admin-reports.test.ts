import { once } from 'node:events'
import t from 'tap'
import { inFull } from '../kit/extent.ts'
import { signUpAt } from '../kit/remote-sign-up.ts'
import { run, start, temporaryFolder } from './program.ts'

t.test('reports are listed and decided in a shell, beside the server', async (t) => {
  const cwd = temporaryFolder(t)
  const reports = (...arguments_: string[]) => run(t, ['admin', 'reports', ...arguments_], { cwd })
  const server = start(t, ['serve', '--port', '0'], { cwd })
  await server.says('ready')
  const portal = /"portal":"([^"]+)"/.exec(server.output().stdout)?.[1] as string
  const headers = await signUpAt(portal)
  const send = async (path: string, sent: Record<string, string>, body: unknown) =>
    (await fetch(`${portal}${path}`, { method: 'POST', headers: sent, body: JSON.stringify(body) })).json()
  const { id } = (await send('/api/games', headers, { title: 'Pong', description: '' })) as { id: string }
  const report = { target: { kind: 'game', id }, category: 'malware', text: 'It asks for passwords.' }
  t.match(await send('/api/reports', { 'content-type': 'application/json' }, report), { state: 'open' })

  t.match(await reports('list'), {
    code: 0,
    stdout: new RegExp(`^game +${id} +1 +\\S+ +URGENT malware\\n[^]*/admin/reports`),
  })
  const listed = JSON.parse((await reports('list', '--json')).stdout)
  t.match(listed, [{ kind: 'game', id, reports: 1, urgent: true, categories: ['malware'] }], 'one JSON value')
  const dismissed = await reports('dismiss', id)
  t.match(dismissed, { code: 0, stdout: /Dismissed: game gam_\w+ \(1 report\)\.\n.*undo dec_/ })
  await inFull(t)?.test('what is not open is not dismissed', async (t) => {
    t.match(await reports('dismiss', id), { code: 1, stderr: /All reports about this are closed/ })
  })
  const decision = /undo (dec_\w+)/.exec(dismissed.stdout)?.[1] as string
  t.match(await reports('undo', decision), { code: 0, stdout: /1 report is open again/ })
  const { stdout: suspended } = await reports('suspend', id, '--reason', 'It steals passwords.', '--json')
  t.match(JSON.parse(suspended), { id: /^dec_/, action: 'suspend', target: { kind: 'game', id }, reports: 1 })
  const game = (await (await fetch(`${portal}/api/games/${id}`, { headers })).json()) as { suspended: unknown }
  t.match(game.suspended, { reason: 'It steals passwords.' })
  await inFull(t)?.test('an asset is not suspended', async (t) => {
    t.match(await reports('suspend', 'ast_nothing', '--reason', 'x'), { code: 1, stderr: /suspends games/ })
  })
  const { stdout } = await run(t, ['admin', 'audit'], { cwd })
  const actions = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).action)
  t.same(actions, ['game.suspend', 'report.reopen', 'report.dismiss'], 'each change leaves one row')
  server.process.kill('SIGTERM')
  await once(server.process, 'close')
})
