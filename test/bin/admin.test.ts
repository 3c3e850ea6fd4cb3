import { once } from 'node:events'
import { Command } from 'commander'
import t from 'tap'
import { configure } from '../../bin/commands/admin.ts'
import { packageInstallation } from '../../bin/installation.ts'
import { ALL, inFull } from '../kit/extent.ts'
import { until } from '../kit/until.ts'
import { start, temporaryFolder } from './program.ts'

const account = ['--email', 'ada@example.org', '--name', 'Ada']

/** The action that each command of `gameyard admin` leaves in the audit; null for one that changes nothing. */
const ACTIONS: Record<string, string | null> = {
  create: 'player.create',
  'reset-password': 'player.password',
  email: 'player.email',
  invite: 'invitation.make',
  'sign-out': 'player.sign-out',
  role: 'player.role',
  suspend: 'game.suspend',
  lift: 'game.lift',
  reports: 'report.dismiss',
  quota: 'player.quotas',
  trust: 'player.trust',
  audit: null,
}

/** What admin-reports.test.ts looks for in the short form. */
const DISMISSAL = new Set(['report.dismiss'])

t.test('an administrator is made from a shell, and gets another password there', async (t) => {
  const cwd = temporaryFolder(t)
  const command = async (input: string, ...arguments_: string[]) => {
    const running = start(t, ['admin', ...arguments_], { cwd })
    running.process.stdin?.end(input)
    return running.ended
  }
  t.match(await command('correct yard battery\n', 'create', ...account, '--data', 'data'), {
    code: 0,
    stdout: /Ada \(ada@example\.org\)/,
    stderr: /with its data in \/.*\/data\n/,
  })
  /** A command of the long form, mostly a refusal, because each command costs half a second of processor time. */
  const inLongForm = async (what: object, input: string, ...arguments_: string[]) =>
    ALL && t.match(await command(input, ...arguments_), what)
  await inLongForm({ code: 1, stderr: /has? an account|account with/ }, 'correct yard battery\n', 'create', ...account)
  await inLongForm({ code: 1, stderr: /at least 10/ }, 'short\n', 'reset-password', ...account.slice(0, 2))
  await inLongForm({ code: 1, stderr: /no password/ }, '', 'reset-password', ...account.slice(0, 2))
  await inLongForm({ code: 1, stderr: /no such player/ }, 'x', 'reset-password', '--email', 'bob@example.org')
  await inLongForm({ code: 2, stderr: /--email/ }, '', 'create')

  const server = start(t, ['serve', '--port', '0'], { cwd })
  await server.says('ready')
  t.notMatch(server.output().stdout, /\/setup\//, 'there is an administrator, so no set-up link')
  const portal = /"portal":"([^"]+)"/.exec(server.output().stdout)?.[1] as string
  const signIn = (password: string) =>
    fetch(`${portal}/api/auth/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: portal },
      body: JSON.stringify({ email: 'ada@example.org', password }),
    })
  const first = await signIn('correct yard battery')
  t.match(await first.json(), { user: { isAdmin: true } })
  const asked = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      origin: portal,
      cookie: first.headers.get('set-cookie')?.split(';')[0] ?? '',
    },
    body: JSON.stringify({ label: 'Program', scopes: ['games:read'] }),
  }
  t.equal((await fetch(`${portal}/api/tokens`, asked)).status, 201)
  t.match(
    await command('another yard battery\n', 'reset-password', ...account.slice(0, 2)),
    { code: 0, stdout: /1 token was removed\./ },
    'while it runs',
  )
  t.equal((await signIn('correct yard battery')).status, 401)
  t.equal((await signIn('another yard battery')).status, 200)

  await inLongForm({ code: 2, stderr: /moderator/ }, '', 'role', ...account.slice(0, 2), '--role', 'king')
  await inLongForm({ code: 1, stderr: /only administrator/ }, '', 'role', ...account.slice(0, 2), '--role', 'player')
  await inLongForm({ code: 1, stderr: /no such game/ }, '', 'suspend', 'pong', '--reason', 'Stolen.')
  const cookie = (await signIn('another yard battery')).headers.get('set-cookie')?.split(';')[0] ?? ''
  const headers = { 'content-type': 'application/json', origin: portal, cookie }
  const body = JSON.stringify({ title: 'Pong', description: 'A game.' })
  const made = await fetch(`${portal}/api/games`, { method: 'POST', headers, body })
  t.equal(made.status, 201, await made.text())
  await inLongForm({ code: 1, stderr: /Give the reason/ }, '', 'suspend', 'pong', '--reason', ' ')
  const suspended = JSON.parse((await command('', 'suspend', 'pong', '--reason', 'Stolen.', '--json')).stdout)
  t.match(suspended, { id: /^gam_/, slug: 'pong', title: 'Pong', suspended: true })
  const game = async () => (await (await fetch(`${portal}/api/games/pong`, { headers })).json()).suspended
  t.match(await game(), { reason: 'Stolen.' })
  t.match(await command('', 'lift', 'pong'), { code: 0, stdout: /can be played again/ })
  t.equal(await game(), null)
  const { id } = (await (await fetch(`${portal}/api/games/pong`, { headers })).json()) as { id: string }
  const report = { target: { kind: 'game', id }, category: 'spam', text: 'Spam.' }
  const reported = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(report) }
  t.equal((await fetch(`${portal}/api/reports`, reported)).status, 201)
  // In the short form, admin-reports.test.ts does that.
  await inLongForm({ code: 0, stdout: /Dismissed/ }, '', 'reports', 'dismiss', id)
  await inLongForm({ code: 2, stderr: /20GiB/ }, '', 'quota', 'ada@example.org', '--storage', 'much')
  t.match(await command('', 'quota', 'ada@example.org', '--storage', '1.5GiB', '--games', 'none'), {
    code: 0,
    stdout: /storage +1\.5 GiB\n +games +no limit\n +assets +1000 \(as configured\)/,
  })
  const usage = await (await fetch(`${portal}/api/usage`, { headers })).json()
  t.equal(usage.quotas.storageBytesPerPlayer.limit, 1.5 * 1024 ** 3)
  t.equal(usage.quotas.gamesPerPlayer.limit, null)
  const quota =
    /"storageBytesPerPlayer": 1610612736,.*"changed": \[\s+"storageBytesPerPlayer",\s+"gamesPerPlayer"\s+\]/s
  await inLongForm({ code: 0, stdout: quota }, '', 'quota', 'ada@example.org', '--json')
  const bob = ['--email', 'bob@example.com', '--name', 'Bob']
  const created = JSON.parse((await command('correct yard battery\n', 'create', ...bob, '--json')).stdout)
  t.match(created, { id: /^ply_/, name: 'Bob', email: 'bob@example.com', role: 'admin' })
  const moved = JSON.parse((await command('', 'email', ...bob.slice(0, 2), '--to', 'bob@example.org', '--json')).stdout)
  t.match(moved, { id: created.id, email: 'bob@example.org' })
  const changed = JSON.parse(
    (await command('', 'role', ...account.slice(0, 2), '--role', 'moderator', '--json')).stdout,
  )
  t.match(changed, { name: 'Ada', role: 'moderator' })
  t.match(await command('', 'trust', 'bob@example.org'), { code: 0, stdout: /Bob publishes games without approval/ })
  await inLongForm({ code: 1, stderr: /no such player/ }, '', 'trust', 'nobody@example.org')
  const invited = await command('Ada\r\n\nGrace Hopper\n', 'invite', 'Bob', '--names', '-')
  t.match(invited, {
    code: 0,
    stdout: /^Bob\thttp.+\nAda\thttp.+\nGrace Hopper\thttp.+\/invite\/([B-Z]{4}-){2}[B-Z]{4}\n$/,
  })
  const link = new URL(invited.stdout.trim().split('\t').at(-1) as string)
  t.equal((await fetch(portal + link.pathname)).status, 200, 'the server takes the link')
  await inLongForm({ code: 1, stderr: /no name in -/ }, '\n', 'invite', '--names', '-')
  await inLongForm({ code: 1, stderr: /nowhere\.txt can't be read/ }, '', 'invite', '--names', 'nowhere.txt')
  await inLongForm({ code: 1, stderr: /at most 100/ }, 'x\n'.repeat(101), 'invite', '--names', '-')
  const asksWithSession = async () => (await fetch(`${portal}/api/games`, { headers })).status
  t.equal(await asksWithSession(), 200)
  t.match(await command('', 'sign-out', 'ada@example.org'), { code: 0, stdout: /Ada is signed out everywhere/ })
  await until(async () => (await asksWithSession()) === 401)
  const rows = (await command('', 'audit')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.same(
    rows.map(({ action }) => action),
    [
      'player.sign-out',
      'invitation.make',
      'invitation.make',
      'invitation.make',
      'player.trust',
      'player.role',
      'player.email',
      'player.create',
      'player.quotas',
      ...(ALL ? DISMISSAL : []),
      'game.lift',
      'game.suspend',
      'player.password',
      'player.create',
    ],
    'each command leaves a row, and one that failed or changed nothing leaves none',
  )
  const left = new Set<string>(rows.map(({ action }) => action))
  for (const action of Object.values(ACTIONS))
    if (action && (ALL || !DISMISSAL.has(action))) t.ok(left.has(action), `${action} is in the audit`)
  for (const { by } of rows) t.match(by, { role: 'command', id: /./ })
  await inLongForm({ stdout: /^[^\n]*game.suspend[^\n]*\n$/ }, '', 'audit', '--search', 'Stolen')
  server.process.kill('SIGTERM')
  await once(server.process, 'close')
})

t.test('every command of the staff that changes something is one whose row in the audit is tested', async (t) => {
  const admin = new Command('admin')
  configure(admin, packageInstallation())
  t.same(admin.commands.map((command) => command.name()).sort(), Object.keys(ACTIONS).sort())
})

inFull(t)?.test('the first start prints the set-up link', async (t) => {
  const server = start(t, ['serve', '--port', '0'])
  await server.says('/setup/')
  const link = /http:\/\/localhost:\d+\/setup\/[\w-]{43}/.exec(server.output().stdout)?.[0] as string
  const page = await fetch(link)
  t.equal(page.status, 200)
  t.match(await page.text(), /type="password"/)
})
