import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { run, takenPort, temporaryFolder } from '../bin/program.ts'
import { ALL, inFull } from '../kit/extent.ts'
import { GAMEYARD } from '../kit/gameyard.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { startServer } from '../kit/server.ts'
import { ask, program } from '../kit/upload.ts'
import { endWithParent } from '../kit/watchdog.ts'

const PASSWORD = 'correct yard battery fence'
const ONE_SENTENCE = /^[^\n]+[^\n.]\n?$|^[^\n]+\.\n$/

/** A data folder as a platform leaves it, with one player. */
const home = mkdtempSync(join(tmpdir(), 'gameyard-adversity-'))
t.teardown(() => rmSync(home, { recursive: true, force: true }))
const sound = join(home, 'sound')

/** Where a helper of the system is absent: a visible reason, or a failure in CI. */
function lacks(what: string | false): string | false {
  if (what && process.env.CI === 'true') throw new Error(what)
  return what
}

const works = (command: string, ...arguments_: string[]) => spawnSync(command, arguments_).status === 0
const isRoot = process.getuid?.() === 0

t.before(async () => {
  const folder = join(home, 'first')
  mkdirSync(folder)
  const server = await startServer(t, { folder })
  await signUp(server.portal, 'ada@example.org')
  await server.stop()
  cpSync(join(folder, 'data'), sound, { recursive: true, preserveTimestamps: true })
})

interface Case {
  name: string
  /** Makes a copy of the sound folder what it is about. */
  spoil?(data: string): void
  says: RegExp
  /** Commands before the program's own, such as `faketime -m -2h`. */
  through?: string[]
  arguments?: string[]
  env?: Record<string, string>
  /** Whether another case of the short form proves nearly the same. */
  long?: true
}

/** Root goes past every mode unless these rights are taken from it. */
const OBEYING = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-all'] : []

const page = (data: string, bytes: Buffer, at: number) => {
  const file = openSync(join(data, 'gameyard.db'), 'r+')
  writeSync(file, bytes, 0, bytes.length, at)
  closeSync(file)
}
const sql = (data: string, statement: string) => {
  const database = new DatabaseSync(join(data, 'gameyard.db'))
  database.exec(statement)
  database.close()
}

const cases: Case[] = [
  {
    name: 'a folder without permissions',
    spoil: (data) => chmodSync(data, 0o500),
    through: OBEYING,
    says: /^The data folder \S+ can't be used \(permission denied\); repair it or choose another with --data\.$/,
  },
  {
    name: 'a database file that may not be read',
    long: true,
    spoil: (data) => chmodSync(join(data, 'gameyard.db'), 0o000),
    through: OBEYING,
    says: /^The database file \S+ can't be used \(.+\); check that this user may write to it and its folder\.$/,
  },
  {
    name: 'a database file that may not be written',
    long: true,
    spoil: (data) => chmodSync(join(data, 'gameyard.db'), 0o400),
    through: OBEYING,
    says: /^The database file \S+ can't be used \(.+\); check that this user may write to it and its folder\.$/,
  },
  {
    name: 'a key that may not be read',
    spoil: (data) => chmodSync(join(data, 'keys/secret'), 0o000),
    through: OBEYING,
    says: /^The key file \S+ can't be read \(EACCES\); give it back its owner and mode 0600\.$/,
  },
  {
    name: 'a blob folder that may not be used',
    long: true,
    spoil: (data) => chmodSync(join(data, 'blobs'), 0o000),
    through: OBEYING,
    says: /^The storage folder \S+ can't be used \(.+\); set dataDir or its permissions\.$/,
  },
  {
    name: 'a damaged key',
    spoil: (data) => truncateSync(join(data, 'keys/secret'), 7),
    says: /^The key file \S+ is damaged; restore it from a backup\.$/,
  },
  {
    name: 'a damaged first page of the database',
    long: true,
    spoil: (data) => page(data, Buffer.alloc(64, 0xa5), 0),
    says: /^The database file \S+ is damaged \(file is not a database\); restore a backup, or move the file away/,
  },
  {
    name: 'a damaged page within the database',
    spoil: (data) => page(data, Buffer.alloc(8192, 0xa5), 4096 * 4),
    says: /^The database file \S+ is damaged \(.+\); restore a backup, or move the file away to start over\.$/,
  },
  {
    name: 'a database cut off',
    long: true,
    spoil: (data) => truncateSync(join(data, 'gameyard.db'), 4096 * 9),
    says: /^The database file \S+ is damaged \(.+\); restore a backup, or move the file away to start over\.$/,
  },
  {
    name: 'a database of a newer version',
    spoil: (data) =>
      sql(data, "insert into schema_migrations (name, applied_at) values ('2999_01_01_rooms_in_orbit', 1)"),
    says: /^This database was written by a newer Gameyard, .*2999_01_01_rooms_in_orbit.*Start that version, or restore/,
  },
  {
    name: 'a configuration that is garbage',
    spoil: (data) => writeFileSync(join(data, '../gameyard.yaml'), Buffer.from([0, 255, 1, 0x3a, 0x7b, 0xfe, 10])),
    says: /^gameyard\.yaml:1:1 +\S/,
  },
]

const chosen = cases.filter(({ long }) => ALL || !long)

t.test('each thing that keeps the platform from starting is one sentence, and nothing is changed', async (t) => {
  const missing = lacks(OBEYING.length > 0 && !works('setpriv', '--version') && 'there is no setpriv (util-linux)')
  await Promise.all(
    chosen.map(async ({ name, spoil, says, through = [], env }, index) => {
      if (missing && through.length > 0) return t.pass(name, { skip: missing })
      const folder = join(home, `case${index}`)
      const data = join(folder, 'data')
      cpSync(sound, data, { recursive: true, preserveTimestamps: true })
      spoil?.(data)
      const before = fingerprint(data)
      const { code, stdout, stderr } = await serve(t, folder, { through, env: env ?? {} })
      t.equal(code, 1, `${name}: exit code 1`)
      t.match(stderr.trim(), says, name)
      t.match(stderr, ONE_SENTENCE, `${name}: one line`)
      t.notMatch(stdout, /"ready"/)
      t.same(fingerprint(data), before, `${name}: nothing was changed`)
    }),
  )
})

// In the short form test/bin/serve.test.ts proves it.
inFull(t)?.test('a port that is taken', async (t) => {
  const folder = join(home, 'port')
  cpSync(sound, join(folder, 'data'), { recursive: true, preserveTimestamps: true })
  const port = await takenPort(t)
  const { code, stderr } = await serve(t, folder, { arguments: ['--port', String(port)] })
  t.equal(code, 1)
  t.equal(stderr, `Port ${port} is taken by another program; choose another with --port.\n`)
})

inFull(t)?.test('a clock that is two hours off is noticed where something can tell', async (t) => {
  const missing = lacks(!works('faketime', '--version') && 'there is no faketime (Debian: apt install faketime)')
  if (missing) return t.pass('skipped', { skip: missing })
  const folder = join(home, 'clock')
  cpSync(sound, join(folder, 'data'), { recursive: true })
  const env = { NO_FAKE_STAT: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' }
  const behind = await serve(t, folder, { through: ['faketime', '-m', '-f', '-2h'], env })
  t.equal(behind.code, 1)
  t.match(behind.stderr, /^This machine's clock says \S+ \S+ UTC, but \S+ was written at \S+ \S+ UTC: set the clock\./)
  t.match(behind.stderr, ONE_SENTENCE)

  if (needsPostgres.skip) return t.pass('with PostgreSQL', { skip: needsPostgres.skip })
  const url = await (await startPostgres()).database()
  writeFileSync(
    join(folder, 'gameyard.yaml'),
    JSON.stringify({ secret: 'x'.repeat(40), database: { driver: 'postgres', url } }),
  )
  const ahead = await serve(t, folder, { through: ['faketime', '-m', '-f', '+2h'], env })
  t.equal(ahead.code, 1)
  t.match(ahead.stderr, /^This machine's clock says .* UTC, the database server's says .* UTC: set the one that is/)
})

/** Mounts a file system for the time of the test; null where that is not allowed. */
function mounted(t: Test, name: string, ...options: string[]): string | null {
  const folder = join(home, name)
  mkdirSync(folder, { recursive: true })
  if (lacks(!works('mount', ...options, folder) && 'file systems may not be mounted here')) return null
  t.teardown(() => execFileSync('umount', ['-l', folder]))
  return folder
}

inFull(t)?.test('a read-only data folder', async (t) => {
  const source = join(home, 'source')
  cpSync(sound, join(source, 'data'), { recursive: true, preserveTimestamps: true })
  const folder = mounted(t, 'read-only', '--bind', source)
  if (!folder || !works('mount', '-o', 'remount,ro,bind', folder))
    return t.pass('skipped', { skip: 'no mounts on this machine' })
  const { code, stderr } = await serve(t, folder)
  t.equal(code, 1)
  t.match(
    stderr,
    /^The data folder \S+ can't be used \(the file system is read-only\); repair it or choose another with --data\.\n$/,
  )
})

inFull(t)?.test('a start on a full disk', async (t) => {
  const folder = mounted(t, 'full', '-t', 'tmpfs', '-o', 'size=256k', 'tmpfs')
  if (!folder) return t.pass('skipped', { skip: 'no mounts on this machine' })
  const { code, stderr } = await serve(t, folder)
  t.equal(code, 1)
  t.match(
    stderr,
    /^The data folder (\S+) can't be used \(the disk is full\); make room on it \(df -h \1 shows it\)[^\n]*\n$/,
  )
  t.notOk(existsSync(join(folder, 'data')), 'nothing was written')
})

inFull(t)?.test(
  'a disk that fills while the platform runs: writes are refused, reads go on, nothing is lost',
  async (t) => {
    const folder = mounted(t, 'filling', '-t', 'tmpfs', '-o', 'size=48m', 'tmpfs')
    if (!folder) return t.pass('skipped', { skip: 'no mounts on this machine' })
    const server = await startServer(t, { folder, config: { limits: { rateLimits: false } } })
    const { portal } = server
    const cookie = await signUp(portal, 'grace@example.org')
    const headers = { origin: portal, cookie }
    const scopes = ['games:read', 'games:write', 'deployments:write']
    const made = await ask('POST', `${portal}/api/tokens`, { headers, body: { label: 'test', scopes } })
    const { get, post } = program(portal, made.body.token)
    const game = (await post('/api/games', { title: 'Duo', description: 'Two dots.' })).body

    const html = Buffer.alloc(3_000_000, '<!-- a large page -->')
    const file = { path: 'index.html', size: html.length, sha256: createHash('sha256').update(html).digest('hex') }
    const { deployId, uploads } = (await post('/api/deploy', { gameId: game.id, files: [file] })).body
    const upload = () => ask('PUT', uploads[0].uploadUrl, { headers: uploads[0].headers, body: html })

    const filler = join(folder, 'filler')
    fill(filler, folder, 1_000_000)
    t.match(await upload(), { status: 507, body: { error: { code: 'storage_full', message: /no space/ } } })
    fill(filler, folder, 0)
    let refused = 0
    for (let count = 0; count < 200 && refused === 0; count++) {
      const answer = await post('/api/games', { title: `Game ${count}`, description: 'x'.repeat(15_000) })
      if (answer.status === 201) continue
      refused = answer.status
      t.match(answer.body, { error: { code: 'storage_full', message: 'The server has no space left to store this.' } })
    }
    t.equal(refused, 507, 'writes are refused in the end')
    const games = (await get('/api/games?limit=100')).body.games.length
    for (const path of ['/', '/games/duo', '/healthz', '/readyz'])
      t.equal((await ask('GET', `${portal}${path}`)).status, 200, `${path} is still served`)

    rmSync(filler)
    t.equal((await upload()).status < 300, true, 'with room again the same upload goes through')
    t.equal((await post(`/api/deploy/${deployId}/finalize`)).status, 200)
    t.equal((await ask('GET', `http://duo.localhost:${server.port}/`)).status, 200)
    t.equal((await get('/api/games?limit=100')).body.games.length, games, 'no game was lost, none came of a refusal')
    t.equal(await server.stop(), 0)
    sql(join(folder, 'data'), 'pragma integrity_check')
  },
)

t.test('a damaged backup is refused by one sentence before anything is touched', async (t) => {
  const cwd = temporaryFolder(t)
  const file = join(cwd, 'yard.tar')
  t.equal((await run(t, ['backup', file, '--data', sound], { cwd })).code, 0)
  const bytes = readFileSync(file)
  bytes.fill('damaged', bytes.indexOf('SQLite format') + 9000, bytes.indexOf('SQLite format') + 9100)
  writeFileSync(file, bytes)
  const { code, stderr } = await run(t, ['restore', file, '--data', 'again'], { cwd })
  t.equal(code, 1)
  t.match(stderr, /^\S+yard\.tar is damaged or no backup of Gameyard: gameyard\.db is not what was saved\.\n$/)
  t.notOk(existsSync(join(cwd, 'again')))
})

/** Writes zeros until the file system has only this much left, in bytes. */
function fill(file: string, folder: string, left: number): void {
  const handle = openSync(file, 'a')
  try {
    for (;;) {
      const { bavail, bsize } = statfsSync(folder)
      const rest = bavail * bsize - left
      if (rest <= 0 || writeSync(handle, Buffer.alloc(Math.min(rest, 1_000_000))) === 0) return
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(handle)
  }
}

/** What the files that last are: their digests, or where they may not be read, their sizes. */
function fingerprint(data: string): Record<string, string> {
  const names = globSync('**', { cwd: data }).filter((name) => !/-(wal|shm)$/.test(name))
  return Object.fromEntries(
    names.sort().map((name) => {
      const path = join(data, name)
      const status = statSync(path)
      return [name, status.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'folder']
    }),
  )
}

async function signUp(portal: string, email: string): Promise<string> {
  const body = { name: 'Somebody', email, password: PASSWORD }
  const answer = await ask('POST', `${portal}/api/auth/sign-up`, { headers: { origin: portal }, body })
  if (answer.status !== 201) throw new Error(`sign-up: ${answer.status} ${JSON.stringify(answer.body)}`)
  return [answer.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0] ?? ''
}

/** Runs `gameyard serve` in a folder until it ends; one that starts nevertheless is stopped, with exit code 0. */
function serve(
  t: Test,
  folder: string,
  options: { through?: string[]; arguments?: string[]; env?: Record<string, string> } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const own = Object.entries(process.env).filter(([name]) => !/^(SERVICE_|NODE_|TAP)/.test(name))
  const [command = '', ...rest] = [...(options.through ?? []), ...GAMEYARD]
  const child = spawn(command, [...rest, 'serve', ...(options.arguments ?? ['--port', '0'])], {
    cwd: folder,
    env: { ...Object.fromEntries(own), ...options.env },
  })
  endWithParent(child)
  t.teardown(() => child.kill('SIGKILL'))
  let [stdout, stderr] = ['', '']
  child.stderr.on('data', (chunk) => (stderr += chunk))
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    if (stdout.includes('"ready"')) child.kill('SIGTERM')
  })
  return new Promise((done, fail) => {
    child.on('error', fail)
    child.on('close', (code) => done({ code, stdout, stderr }))
  })
}
