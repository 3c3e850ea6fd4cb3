// Tests that whatever ends a command is said in one form, also before the command begins.
import { chmodSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { GAMEYARD } from '../kit/gameyard.ts'
import { run, temporaryFolder } from './program.ts'

const TOKEN = `svc_api_${'a'.repeat(38)}`
/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:9'

/** Runs `gameyard` by a line of the shell, in which `"$@"` stands for the program. */
const shell = (line: string) => ['sh', '-c', line, 'sh', ...GAMEYARD]

t.test('--json is answered with JSON, whatever is wrong', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'broken.yaml'), 'listen: [')
  const wrong: [string[], number, object][] = [
    [['deploy', '--no-such-option', '--json'], 2, { code: 'usage', message: /unknown option '--no-such-option'/ }],
    [['--json', 'deploy', '--no-such-option'], 2, { code: 'usage' }],
    [['backup', '--json'], 2, { code: 'usage', message: /missing required argument/ }],
    [['ai', '--json'], 2, { code: 'usage' }],
    [['fly', '--json'], 2, { code: 'usage', message: /unknown command/ }],
    [['config', 'print', '--json', '--config', 'broken.yaml'], 1, { code: 'failed', message: /broken\.yaml/ }],
    [['config', 'print', '--json', '--config', 'none.yaml'], 1, { code: 'failed', message: /none\.yaml/ }],
    [['whoami', '--json', '--url', NOWHERE], 1, { code: 'not_signed_in', hint: /gameyard login/ }],
  ]
  const results = await Promise.all(wrong.map(([arguments_]) => run(t, arguments_, { cwd, env: { HOME: cwd } })))
  for (const [index, [arguments_, code, error]] of wrong.entries()) {
    const result = results[index]
    t.equal(result?.code, code, arguments_.join(' '))
    t.match(JSON.parse(result?.stdout ?? ''), { error: { message: /\w/, ...error } }, arguments_.join(' '))
    t.match(result?.stderr, /\w/, 'and people read it')
  }
  const after = await run(t, ['help', '--', '--json'], { cwd })
  t.notMatch(after.stdout, /^\{/, 'what comes after -- is no option')
})

t.test('a working directory that has gone is said', async (t) => {
  const cwd = temporaryFolder(t)
  const gone = join(cwd, 'gone')
  mkdirSync(gone)
  const command = shell(`cd '${gone}' && rmdir '${gone}' && exec "$@"`)
  const result = await run(t, ['whoami', '--json'], { command, cwd })
  t.equal(result.code, 1)
  t.match(JSON.parse(result.stdout), {
    error: { message: 'The working directory no longer exists.', hint: /cd/ },
  })
  t.notMatch(result.stderr, /at .*\.js/, 'without a stack')
  mkdirSync(gone)
  t.match(await run(t, ['version', '--json'], { command, cwd }), { code: 0 }, 'and disturbs nothing that needs none')
  t.throws(() => rmdirSync(gone))
})

t.test(
  'a user without a name and a home uses a token, and learns why a sign-in is not kept',
  { skip: process.getuid?.() === 0 ? false : 'another user id takes root' },
  async (t) => {
    const cwd = temporaryFolder(t)
    chmodSync(cwd, 0o777)
    // The checkout may be in a folder that only root may enter, so the user keeps that capability.
    const user = '--reuid=10001 --regid=10001 --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override'
    const command = shell(`unset HOME XDG_CONFIG_HOME XDG_STATE_HOME; exec setpriv ${user} "$@"`)
    const env = { SERVICE_BASE_URL: NOWHERE, SERVICE_API_TOKEN: TOKEN }
    const withToken = await run(t, ['games', 'list', '--json'], { command, cwd, env })
    t.match(JSON.parse(withToken.stdout), { error: { code: 'unreachable' } }, 'it got as far as the network')
    const without = await run(t, ['games', 'list', '--json'], { command, cwd, env: { SERVICE_BASE_URL: NOWHERE } })
    t.match(JSON.parse(without.stdout), { error: { code: 'not_signed_in' } })
    const login = await run(t, ['login', '--json'], { command, cwd, env: { SERVICE_BASE_URL: NOWHERE } })
    t.match(JSON.parse(login.stdout), { error: { hint: /HOME|SERVICE_BASE_URL/ } })
    t.notMatch([withToken, without, login].map(({ stderr }) => stderr).join(), /at .*\.js/)
  },
)

t.test('output that cannot be written is a failure, and messages that nobody reads are none', async (t) => {
  for (const arguments_ of [['version'], ['config', 'print'], ['config', 'check', '--json']]) {
    const full = await run(t, arguments_, { command: shell('exec "$@" > /dev/full') })
    t.match(full, { code: 1, stderr: /^Standard output can't be written: the disk is full\.\n$/ }, arguments_.join(' '))
  }
  const early = await run(t, ['config', 'print'], { command: shell('{ "$@"; echo "$?" >&2; } | true') })
  t.match(early, { stderr: '0\n' }, 'a reader who has enough is no failure')
  const wrong = await run(t, ['fly'], { command: shell('{ "$@"; echo "$?"; } 2> /dev/full') })
  t.match(wrong, { stdout: '2\n' }, 'the exit code is that of the command')
})
