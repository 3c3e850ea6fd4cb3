import type { Command } from 'commander'
import { type ConfigOptions, loadProgramConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true }

export function configure(config: Command): void {
  config
    .description("The platform's configuration: what is wrong with it, and what is in effect.")
    .addHelpText('after', '\nExamples:\n  gameyard config check --config server.yaml\n  gameyard config print --json')
  withConfigOptions(config.command('check'))
    .summary('report every mistake')
    .description('Validates the configuration: every mistake with its line, what was expected, and a hint.')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExamples:\n  gameyard config check\n  gameyard config check --config server.yaml --json')
    .action(check)
  withConfigOptions(config.command('print'))
    .summary('show what is in effect')
    .description('Shows the effective configuration with defaults and environment, secrets masked.')
    .option('--json', 'as JSON')
    .action(print)
}

async function check(options: Options): Promise<void> {
  const { ConfigError, formatProblem } = await import('../../config/problems.ts')
  try {
    const { problems, file } = await loadProgramConfig(options)
    if (options.json) return console.log(JSON.stringify({ valid: true, problems }, null, 2))
    for (const problem of problems) console.log(formatProblem(problem))
    console.log(`${file ?? 'The configuration (no file; defaults and environment)'} is valid.`)
  } catch (error) {
    if (!(error instanceof ConfigError && options.json)) throw error
    console.log(JSON.stringify({ valid: false, problems: error.problems }, null, 2))
    process.exitCode = 1
  }
}

async function print(options: Options): Promise<void> {
  const { maskSecrets, printConfig } = await import('../../config/print.ts')
  const { config, schema } = await loadProgramConfig(options)
  const text = options.json ? `${JSON.stringify(maskSecrets(config, schema), null, 2)}\n` : printConfig(config, schema)
  process.stdout.write(text)
}
