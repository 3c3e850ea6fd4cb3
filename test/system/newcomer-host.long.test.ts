// A host who has only the guide: its commands, in its order, on a machine that has never had a Gameyard.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../bin/program.ts'
import { shippedConfiguration } from '../bin/shipped-files.ts'
import { blocksOf, guideText } from '../docs/blocks.ts'
import { hasPrograms } from '../kit/components.ts'
import { GAMEYARD } from '../kit/gameyard.ts'
import { freePort } from '../kit/server.ts'
import { timeLimit } from '../kit/time-limit.ts'

const root = join(import.meta.dirname, '../..')

/** Returns the commands under a heading of the guide, as printed. */
function printed(guide: string, heading: string): string {
  const text = guideText(guide)
  const section = text.slice(text.indexOf(`### ${heading}\n`)).split(/\n(?=### )/)[0] ?? ''
  const code = blocksOf(section).find(({ language }) => language === 'bash')?.code
  if (!code) throw new Error(`docs/${guide}.md prints no commands under ${heading}.`)
  return code
}

/** What systemd does with the unit: the user, the sandbox of the file system, the log. */
const SYSTEMCTL = `#!/bin/bash
set -e
value() { sed -n "s/^$1=-\\?//p" /etc/systemd/system/gameyard.service; }
start() {
  state=/var/lib/$(value StateDirectory)
  install -d -o "$(value User)" -g "$(value Group)" -m "$(value StateDirectoryMode)" "$state"
  writable=(--bind "$state" "$state")
  for path in $(value ReadWritePaths); do [ ! -e "$path" ] || writable+=(--bind "$path" "$path"); done
  setsid bwrap --ro-bind / / --proc /proc --dev /dev --setenv TMPDIR "$state" "\${writable[@]}" --cap-add ALL \\
    --chdir "$(value WorkingDirectory)" setpriv --reuid "$(value User)" --regid "$(value Group)" --clear-groups \\
    --no-new-privs --inh-caps=-all env HOME=/ $(value Environment) $(value ExecStart) >> /var/log/gameyard 2>&1 < /dev/null &
  echo $! > /run/gameyard.pid
}
stop() {
  pid=$(cat /run/gameyard.pid)
  program=$(pgrep -P "$pid") || { cat /var/log/gameyard >&2; exit 1; }
  kill -TERM "$program"
  while kill -0 "$pid" 2> /dev/null; do sleep 0.1; done
}
case "$1" in
  daemon-reload) ;;
  enable | start) start ;;
  restart) stop && start ;;
  stop) stop ;;
  *) echo "systemctl $1 is not known here" >&2; exit 1 ;;
esac
`

/** An empty machine with this machine's programs, in which the tester is root. */
function machine(t: Test, port: number) {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  for (const name of ['bin', 'etc', 'download/config/files']) mkdirSync(join(folder, name), { recursive: true })
  const program = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o755 })
  program('bin/systemctl', SYSTEMCTL)
  program('bin/journalctl', '#!/bin/sh\ncat /var/log/gameyard\n')
  program('bin/apt', '#!/bin/sh\necho "apt $*"\n')
  const gameyard = `#!/bin/sh\nexec ${GAMEYARD.map((word) => `'${word}'`).join(' ')} "$@"\n`
  for (const name of ['gameyard', 'gameyard-new']) program(`download/${name}`, gameyard)
  writeFileSync(join(folder, 'download/config/files/single-server.yaml'), shippedConfiguration(port))
  cpSync(join(root, 'deploy'), join(folder, 'download/deploy'), { recursive: true })
  for (const name of ['passwd', 'group', 'shadow', 'gshadow', 'login.defs'])
    cpSync(join('/etc', name), join(folder, 'etc', name))
  mkdirSync(join(folder, 'etc/systemd/system'), { recursive: true })
  return (script: string) =>
    spawnSync(
      'bwrap',
      [
        ...['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--unshare-pid', '--die-with-parent'],
        ...['/run', '/mnt', '/var', '/usr/local'].flatMap((path) => ['--tmpfs', path]),
        ...['--dir', '/var/lib', '--dir', '/var/log', '--dir', '/usr/local/bin', '--bind', join(folder, 'etc'), '/etc'],
        ...[
          '--cap-add',
          'ALL',
          '--chdir',
          join(folder, 'download'),
          '/bin/bash',
          '--noprofile',
          '--norc',
          '-c',
          script,
        ],
      ],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: timeLimit(240),
        env: {
          HOME: '/root',
          PATH: `${join(folder, 'bin')}:/usr/local/bin:${process.env.PATH}:/usr/sbin:/sbin`,
          SERVICE_BLENDER__DRIVER: 'none',
        },
      },
    )
}

t.test('a host installs, upgrades and restores with the printed commands', { timeout: timeLimit(300) }, async (t) => {
  if (!hasPrograms(t, 'bwrap', 'useradd', 'setpriv', 'curl', 'pgrep')) return
  if (process.getuid?.() !== 0) return t.comment('Only root installs a service.')
  const port = await freePort()
  const [folder = ''] = /install -d -o gameyard \S+ \S+ \/mnt\/backups/.exec(guideText('self-hosting')) ?? []
  t.ok(folder, 'the guide says whose the folder for backups is')
  const answers = `for i in $(seq 600); do curl -fs http://127.0.0.1:${port}/readyz > /dev/null && break; sleep 0.1; done\n`
  const account = '--email ada@example.org'
  const script = [
    'set -eo pipefail',
    printed('self-hosting', 'The program'),
    answers,
    folder,
    'systemctl restart gameyard',
    answers,
    // The doctor misses the proxy and the names of the example, and says so by its exit code.
    printed('self-hosting', 'The first account').replace(/^(gameyard doctor .*)$/m, '$1 || echo "doctor: $?"'),
    `echo 'correct yard battery fence' | gameyard admin create ${account} --name Ada`,
    printed('self-hosting', 'Upgrade'),
    answers,
    printed('self-hosting', 'Backups').replace(/gameyard-\w+\.tar/, 'before-upgrade.tar'),
    answers,
    `curl -fs http://127.0.0.1:${port}/readyz`,
    `gameyard admin role ${account} --role admin`,
    'stat -c "%U %n" /var/lib/gameyard /var/lib/gameyard/*',
    'systemctl stop gameyard',
  ].join('\n')
  const { status, stdout, stderr } = machine(t, port)(script)
  t.equal(status, 0, `${stdout}\n${stderr}`.slice(-4000))
  t.match(stdout, /Set-up.*https:\/\/example\.org\/set-?up/i)
  t.notMatch(stdout, /^root /m, 'what was restored belongs to the user of the service')
})
