import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { featuresOf, findStarter, STARTERS } from '../../plugins/starters/catalog.ts'
import { type Client, type ClientOptions, runClient } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = Pick<ClientOptions, 'json'> & { starter: string; title?: string }

export function configure(command: Command, installation: Installation): void {
  const width = Math.max(...STARTERS.map(({ name }) => name.length))
  command
    .description('Writes a small complete game into a new folder. It needs no platform and no connection.')
    .argument('<dir>', 'the folder, which must not exist or be empty')
    .requiredOption('--starter <name>', `which game: ${STARTERS.map(({ name }) => name).join(', ')}`, starterName)
    .option('--title <text>', 'its title (default: that of the starter)', titleText)
    .option('--json', 'print JSON, and nothing else, on standard output')
    .addHelpText(
      'after',
      `
Starters:
${STARTERS.map(({ name, title, shows }) => `  ${name.padEnd(width)}  ${title}. ${shows}`).join('\n')}

Examples:
  gameyard new boat --starter canvas
  gameyard dev boat                        play it here; the page reloads at every change
  gameyard deploy boat --create            put it on a platform`,
    )
    .action((dir: string, options: Options) => runClient(options, installation, (client) => run(client, dir, options)))
}

function starterName(text: string): string {
  if (!findStarter(text)) {
    throw new InvalidArgumentError(`there is ${STARTERS.map(({ name }) => name).join(', ')}.`)
  }
  return text
}

function titleText(text: string): string {
  const title = text.trim()
  if (title === '' || title.length > 120) throw new InvalidArgumentError('expected 1 to 120 characters.')
  return title
}

async function run({ terminal, cwd }: Client, dir: string, { starter: name, title }: Options): Promise<void> {
  const [{ filesOf }, { PROJECT_FILE, writeProject }, { CliError, fileReason }] = await Promise.all([
    import('../../plugins/starters/files.ts'),
    import('../../clients/cli/project.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  const starter = findStarter(name)
  if (!starter) throw new Error(`The options have let ${name} through.`)
  const folder = resolve(cwd, dir)
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new CliError(`${dir} can't be used: ${fileReason(error)}.`)
  })
  if (entries.length > 0) {
    throw new CliError(`${dir} is not empty.`, { code: 'not_empty', hint: 'Name a new folder: nothing was written.' })
  }
  const files = await filesOf(starter, title)
  try {
    for (const { path, bytes } of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), bytes, { flag: 'wx' })
    }
  } catch (error) {
    throw new CliError(`${dir} can't be written: ${fileReason(error)}.`)
  }
  const { boards, room } = starter
  const described = { ...(room ? { room } : {}), ...(boards ? { boards } : {}), features: featuresOf(starter) }
  await writeProject(folder, { folder: '.', ...described })
  const paths = [...files.map(({ path }) => path), PROJECT_FILE]
  terminal.result({ folder, starter: name, title: title ?? starter.title, files: paths }, () => {
    const at = relative(cwd, folder) || '.'
    const lines = [
      `Wrote ${title ?? starter.title} to ${at}: ${paths.join(', ')}`,
      `  Play it here   gameyard dev ${at}`,
      `  Publish it     gameyard deploy ${at} --create`,
    ]
    return lines.join('\n')
  })
}
