import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { main } from '../../../bin/main.ts'
import { HINTS, hintFor, LISTS } from '../../../clients/cli/hints.ts'
import { hasPrograms } from '../../kit/components.ts'
import { FROM_SOURCE } from '../../kit/gameyard.ts'
import { machine, terminalOf } from './kit.ts'

t.test('help is there in a moment: it reads the words of the command and nothing of the server', (t) => {
  // bench/start.ts measures the time. Code takes the time, so this test checks which files Node ran.
  for (const command of [[], ['deploy'], ['games', 'create'], ['blender', 'create']]) {
    const folder = t.testdir()
    // This omits the environment that the test runner gives to every Node process.
    const env = ['-i', `NODE_V8_COVERAGE=${folder}`]
    execFileSync('env', [...env, process.execPath, FROM_SOURCE, ...command, '--help'])
    const report = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
    const files: string[] = report
      .flatMap(({ result }) => result)
      .filter(({ url }) => url.startsWith('file:'))
      .map(({ url }) => fileURLToPath(url))
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
    const name = ['gameyard', ...command, '--help'].join(' ')
    t.ok(bytes > 0 && bytes < 250_000, `${name} reads ${files.length} files of ${bytes} bytes together`)
    t.same(
      files.filter((file) => /node_modules\/(?!commander\/|@fastify\/error\/)|\/(plugins|drivers|config)\//.test(file)),
      [],
      `${name} reads nothing of the server`,
    )
  }
  t.end()
})

/**
 * Runs a command line in this process, since eighty processes would take seconds. The first test starts processes, and
 * these commands wait for nothing that could print meanwhile.
 */
async function helpOf(...words: string[]): Promise<{ code: number | string | undefined; stdout: string }> {
  const { write } = process.stdout
  const { exitCode } = process
  const listeners = process.stdout.listeners('error')
  let stdout = ''
  process.stdout.write = ((text: string) => {
    stdout += text
    return true
  }) as typeof write
  try {
    await main(['node', 'gameyard', ...words])
    return { code: process.exitCode ?? 0, stdout }
  } finally {
    process.stdout.write = write
    process.exitCode = exitCode
    for (const added of process.stdout.listeners('error').slice(listeners.length))
      process.stdout.removeListener('error', added as () => void)
  }
}

t.test('every command says what it is for, by description and, where it takes something, by example', async (t) => {
  const { stdout } = await helpOf('--help')
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)]
    .map(([, name]) => name as string)
    .filter((name) => name !== 'help')
  t.ok(commands.length >= 20, commands.join(' '))
  for (const command of commands) {
    const help = await helpOf('help', command)
    t.equal(help.code, 0, command)
    t.match(help.stdout, /^Usage: gameyard .+\n\n(?!Options|Commands)\S/, `${command} has a description`)
    if (command !== 'version') t.match(help.stdout, /Examples?(, (?:for|to) [^:]+)?:\n/, `${command} has examples`)
  }
})

t.test('help takes the name of a command at any depth, and refuses one that is not there', async (t) => {
  for (const names of [
    ['games', 'list'],
    ['games', 'boards', 'set'],
    ['admin', 'quota'],
  ])
    t.equal((await helpOf('help', ...names)).stdout, (await helpOf(...names, '--help')).stdout, names.join(' '))
  for (const names of [['gmaes'], ['games', 'lst']]) t.not((await helpOf('help', ...names)).code, 0, names.join(' '))
})

t.test('so does every command below one, with its own options before those that all have', async (t) => {
  for (const group of ['games', 'tokens', 'assets', 'blender', 'ai', 'config', 'admin']) {
    const { stdout } = await helpOf('help', group)
    const below = [...(stdout.split(/^Commands:$/m)[1] ?? '').matchAll(/^ {2}([a-z-]+) .*\S/gm)].map(([, name]) => name)
    t.ok(below.length > 0, group)
    for (const name of below) {
      if (name === 'help') continue
      const help = await helpOf(group, name as string, '--help')
      t.match(help.stdout, /^Usage: gameyard .+\n\n[A-Z][^\n]+/, `${group} ${name} has a description`)
      t.notMatch(
        help.stdout,
        /^ {2}--url[\s\S]*^ {2}(-\w, )?--(?!json|help)/m,
        `${group} ${name}: general options last`,
      )
    }
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
  t.match(await gameyard('completion', 'ksh'), { code: 2, stderr: /there is bash, zsh, fish/ })
})

t.test('the Tab key completes in fish', async (t) => {
  if (!hasPrograms(t, 'fish')) return
  const { gameyard, env } = machine(t)
  const { stdout: script } = await gameyard('completion', 'fish')
  const complete = (line: string) =>
    execFileSync('fish', ['--no-config', '-c', `${script}\ncomplete -C "${line}"`], {
      encoding: 'utf8',
      env: { ...env, PATH: process.env.PATH },
    })
      .trim()
      .split('\n')
  t.same(complete('gameyard dep'), ['deploy\tpublish a build'])
  t.match(complete('gameyard games cr'), [/^create\t/])
  t.match(complete('gameyard games create --vis'), [/^--visibility\t/])
  t.same(
    complete('gameyard games create --visibility p')
      .map((line) => line.split('\t')[0])
      .sort(),
    ['private', 'public'],
  )
})

t.test('the Tab key completes in zsh', async (t) => {
  if (!hasPrograms(t, 'zsh')) return
  const mine = machine(t)
  const terminal = await terminalOf(t, mine)
  if (!terminal) return
  const { stdout } = await mine.gameyard('completion', 'zsh')
  writeFileSync(join(mine.cwd, '_gameyard'), stdout)
  await terminal.type('exec zsh -f +o prompt_cr +o prompt_sp')
  await terminal.type('fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; setopt no_list_beep; echo ready')
  await terminal.sees(/^ready$/m)
  for (const [typed, completed] of [
    ['gameyard dep', 'gameyard deploy'],
    ['gameyard games cr', 'gameyard games create'],
    ['gameyard games create --visibility pri', 'gameyard games create --visibility private'],
  ] as const) {
    await terminal.clear()
    await terminal.press(typed)
    await terminal.press('Tab')
    t.match(await terminal.sees(new RegExp(`> ${completed}`)), completed)
    await terminal.press('C-c')
    await terminal.sees(/\n> \s*$/)
  }
})

t.test('a hint names a command that there is', async (t) => {
  const commands = [...Object.values(HINTS), ...Object.values(LISTS)].flatMap(
    (hint) => hint.match(/gameyard .*/g) ?? [],
  )
  t.ok(commands.length > 15)
  for (const command of new Set(commands)) {
    const words = command.split(' ').slice(1)
    const named = words.filter((word) => /^[a-z]+$/.test(word))
    const { code, stdout } = await helpOf(...named, '--help')
    t.equal(code, 0, command)
    t.match(stdout, new RegExp(`^Usage: gameyard ${named.join(' ')} `), command)
    for (const option of words.filter((word) => word.startsWith('--'))) t.match(stdout, ` ${option} `, command)
  }
  t.match(hintFor({ code: 'not_found', message: 'There is no such game.' }), /gameyard games list$/)
  t.match(hintFor({ code: 'not_found', message: 'There is no such animation preset.' }), /assets animate --help$/)
  t.equal(hintFor({ code: 'not_found', message: 'There is no such constructor.' }), '')
  t.match(hintFor({ code: 'quota_exceeded', message: 'You have 2 games.' }), /gameyard usage$/)
})
