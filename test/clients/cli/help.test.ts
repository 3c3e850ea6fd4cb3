import { execFileSync, spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import t from 'tap'
import { machine } from './kit.ts'

const PROGRAM = resolve(import.meta.dirname, '../../../bin/gameyard.js')

t.test('help is there in a moment', async (t) => {
  // Processor time: how long a person waits depends on what else this machine does. The best of some, once compiled;
  // without what a test runner puts into the environment.
  const script = `TIMEFORMAT='%3U %3S'; for n in 1 2 3 4 5 6 7 8; do time env -i "$0" "$1" $2 --help > /dev/null 2> /dev/null; done`
  for (const command of ['', 'deploy', 'games create']) {
    const { stderr } = spawnSync('bash', ['-c', script, process.execPath, PROGRAM, command], {
      encoding: 'utf8',
    })
    const spent = stderr
      .trim()
      .split('\n')
      .filter((line) => /^[\d.]+ [\d.]+$/.test(line))
      .map((line) => line.split(' ').reduce((sum, seconds) => sum + Number(seconds) * 1000, 0))
    t.equal(spent.length, 8)
    const best = Math.min(...spent)
    t.ok(best < 120, `gameyard ${command} --help takes ${Math.round(best)} ms of processor time`)
  }
})

t.test('every command says what it is for, by description and, where it takes something, by example', async (t) => {
  const { gameyard } = machine(t)
  const { stdout } = await gameyard('--help')
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)]
    .map(([, name]) => name as string)
    .filter((name) => name !== 'help')
  t.ok(commands.length >= 20, commands.join(' '))
  for (const command of commands) {
    const help = await gameyard('help', command)
    t.equal(help.code, 0, command)
    t.match(help.stdout, /^Usage: gameyard .+\n\n(?!Options|Commands)\S/, `${command} has a description`)
    if (command !== 'version') t.match(help.stdout, /Examples?(, for [^:]+)?:\n/, `${command} has examples`)
  }
})

t.test('the Tab key completes commands, options and choices in bash', async (t) => {
  const { gameyard, env } = machine(t)
  const { stdout: script } = await gameyard('completion', 'bash')
  const complete = (...words: string[]) =>
    execFileSync(
      'bash',
      [
        '-c',
        `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _gameyard; echo "\${COMPREPLY[*]}"`,
        'bash',
        'gameyard',
        ...words,
      ],
      { encoding: 'utf8', env: { ...env, PATH: process.env.PATH } },
    ).trim()
  t.equal(complete('dep'), 'deploy')
  t.equal(complete('games', 'cr'), 'create')
  t.equal(complete('games', 'create', '--vis'), '--visibility')
  t.equal(complete('games', 'create', '--visibility', 'p'), 'public private')
  t.equal(complete('deploy', 'dist', '--pre'), '--preview')
  for (const shell of ['zsh', 'fish']) {
    const { code, stdout } = await gameyard('completion', shell)
    t.match({ code, stdout }, { code: 0, stdout: /deploy[\s\S]*publish a build[\s\S]*visibility/ }, shell)
    const there = spawnSync(shell, ['--version']).status === 0
    if (there) t.equal(spawnSync(shell, ['-n'], { input: stdout }).status, 0, `${shell} reads it`)
    else t.comment(`no ${shell} on this machine to read it`)
  }
  t.match(await gameyard('completion', 'ksh'), { code: 2, stderr: /there is bash, zsh, fish/ })
})
