import type { Command, Option } from 'commander'

/** A command path and its possible completions. */
interface Entry {
  /** Empty for the program itself; otherwise a path such as ` games create`. */
  path: string
  summary: string
  commands: Command[]
  options: Option[]
}

/** Generates the completion script of a shell from the current commands. */
export function completionFor(shell: 'bash' | 'zsh' | 'fish', program: Command): string {
  const entries = collectEntries(program, '')
  return { bash, zsh, fish }[shell](entries)
}

function collectEntries(command: Command, path: string): Entry[] {
  const commands = command.commands.filter((child) => child.name() !== 'help')
  const options = [...command.createHelp().visibleOptions(command)]
  const here = { path, summary: command.summary(), commands: [...commands], options }
  return [here, ...commands.flatMap((child) => collectEntries(child, `${path} ${child.name()}`))]
}

const flagsOf = ({ short, long }: Option): string[] => [long, short].filter((flag) => flag !== undefined)

/** Lists the allowed values of options, by command path and flag. */
const choices = (entries: Entry[]): { after: string; values: string[] }[] =>
  entries.flatMap(({ path, options }) =>
    options
      .filter(({ argChoices }) => argChoices)
      .flatMap((option) =>
        flagsOf(option).map((flag) => ({ after: `${path} ${flag}`, values: option.argChoices ?? [] })),
      ),
  )

const known = (entries: Entry[]): string =>
  entries
    .filter(({ path }) => path !== '')
    .map(({ path }) => `"${path}"`)
    .join('|')

function bash(entries: Entry[]): string {
  const words = ({ commands, options }: Entry) =>
    [...commands.map((command) => command.name()), ...options.flatMap(flagsOf)].join(' ')
  return `# Completion of gameyard for bash. Made by: gameyard completion bash
_gameyard() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" place="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$place $word" in ${known(entries)}) place="$place $word" ;; esac
  done
  case "$place $previous" in
${choices(entries)
  .map(
    ({ after, values }) => `    "${after}") COMPREPLY=($(compgen -W "${values.join(' ')}" -- "$current")); return ;;`,
  )
  .join('\n')}
  esac
  case "$place" in
${entries.map((entry) => `    "${entry.path}") words="${words(entry)}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gameyard gameyard
`
}

function zsh(entries: Entry[]): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const described = (word: string, text: string) => quote(`${word.replaceAll(':', '\\:')}:${text}`)
  const words = ({ commands, options }: Entry) => {
    const named = commands.map((command) => described(command.name(), command.summary()))
    const flagged = options.flatMap((option) => flagsOf(option).map((flag) => described(flag, option.description)))
    return `commands=(${named.join(' ')}) flags=(${flagged.join(' ')})`
  }
  return `#compdef gameyard
# Completion of gameyard for zsh. Made by: gameyard completion zsh
_gameyard() {
  local place="" word
  local -a commands flags
  for word in \${words[2,CURRENT-1]}; do
    case "$place $word" in ${known(entries)}) place="$place $word" ;; esac
  done
  case "$place \${words[CURRENT-1]}" in
${choices(entries)
  .map(({ after, values }) => `    "${after}") compadd -- ${values.join(' ')}; return ;;`)
  .join('\n')}
  esac
  case "$place" in
${entries.map((entry) => `    "${entry.path}") ${words(entry)} ;;`).join('\n')}
  esac
  _describe command commands
  _describe -o option flags
  _files
}
# As a file of $fpath this is the function's first call; sourced, it only makes it known.
if [[ "$funcstack[1]" = _gameyard ]]; then _gameyard "$@"; else compdef _gameyard gameyard; fi
`
}

function fish(entries: Entry[]): string {
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = entries.flatMap(({ path, commands, options }) => {
    const where = `-n ${quote(`__gameyard_at "${path.trim()}"`)}`
    return [
      ...commands.map(
        (command) => `complete -c gameyard ${where} -f -a ${command.name()} -d ${quote(command.summary())}`,
      ),
      ...options.map(({ short, long, required, argChoices, description }) => {
        const flags = [long && `-l ${long.slice(2)}`, short && `-s ${short.slice(1)}`].filter(Boolean).join(' ')
        const value = argChoices ? ` -x -a ${quote(argChoices.join(' '))}` : required ? ' -r' : ''
        return `complete -c gameyard ${where} ${flags}${value} -d ${quote(description)}`
      }),
    ]
  })
  const paths = entries.filter(({ path }) => path !== '').map(({ path }) => quote(path.trim()))
  return `# Completion of gameyard for fish. Made by: gameyard completion fish
function __gameyard_at
  set -l place
  for word in (commandline -opc)[2..]
    set -l longer (string join ' ' -- $place $word)
    contains -- "$longer" ${paths.join(' ')}; and set place $longer
  end
  test "$place" = "$argv[1]"
end
${lines.join('\n')}
`
}
