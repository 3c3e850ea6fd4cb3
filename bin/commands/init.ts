import { writeFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { StartupError } from '../../core/errors.ts'
import type { Installation } from '../installation.ts'

const PRESETS = ['lan-jam', 'single-server', 'cluster']

export function addInit(program: Command, installation: Installation): void {
  program
    .command('init')
    .summary('write a configuration file')
    .description('Writes an annotated configuration file; one that is there already stays as it is.')
    .argument('[file]', 'where to', 'gameyard.yaml')
    .addOption(new Option('--preset <name>', 'start from a ready-made one').choices(PRESETS))
    .addHelpText('after', '\nExamples:\n  gameyard init\n  gameyard init --preset lan-jam')
    .action(async (file: string, { preset }: { preset?: string }) => {
      await writeNew(file, preset ? await readPreset(preset, installation) : await annotated())
      console.log(`Wrote ${file}. Next: gameyard serve${file === 'gameyard.yaml' ? '' : ` --config ${file}`}`)
    })
}

async function annotated(): Promise<string> {
  const [{ initialConfig }, { families }, { plugins }] = await Promise.all([
    import('../../config/init.ts'),
    import('../../drivers/index.ts'),
    import('../../plugins/index.ts'),
  ])
  return initialConfig(families, plugins)
}

async function readPreset(name: string, { configurations }: Installation): Promise<string> {
  const bytes = await configurations(`${name}.yaml`)
  if (!bytes) throw new StartupError(`This installation lacks its ready-made ${name}.yaml; install Gameyard again.`)
  return new TextDecoder().decode(bytes)
}

async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new StartupError(`${file} is there already; name another file or remove it.`)
    throw new StartupError(`${file} can't be written (${error.code}).`)
  })
}
