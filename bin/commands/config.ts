import type { Command } from 'commander'
import type { LoadedConfig } from '../../config/load.ts'
import type { Problem } from '../../config/problems.ts'
import type { Payments } from '../../drivers/payments/interface.ts'
import type { PricedPack } from '../../plugins/billing/price.ts'
import { printResult, withJson } from '../json-output.ts'
import { type ConfigOptions, loadProgramConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true }

export function configure(config: Command): void {
  config
    .description("The platform's configuration: what is wrong with it, and what is in effect.")
    .addHelpText('after', '\nExamples:\n  gameyard config check --config server.yaml\n  gameyard config print --json')
  withJson(withConfigOptions(config.command('check')))
    .summary('report every mistake')
    .description('Validates the configuration: every mistake with its line, what was expected, and a hint.')
    .addHelpText('after', '\nExamples:\n  gameyard config check\n  gameyard config check --config server.yaml --json')
    .action(check)
  withJson(withConfigOptions(config.command('print')))
    .summary('show what is in effect')
    .description('Shows the effective configuration with defaults and environment, secrets masked.')
    .action(print)
}

async function check(options: Options): Promise<void> {
  const [{ ConfigError, formatProblem }, { StartupError }] = await Promise.all([
    import('../../config/problems.ts'),
    import('../../core/errors.ts'),
  ])
  try {
    const loaded = await loadProgramConfig(options)
    const { problems, file } = loaded
    await checkStart(loaded)
    const packs = await packsOf(loaded)
    printResult(options, { valid: true, problems, packs }, () =>
      [
        ...problems.map(formatProblem),
        ...packs.map(({ id, credits, priceText }) => `Pack ${id}: ${credits} credits for ${priceText}`),
        `${file ?? 'The configuration (no file; defaults and environment)'} is valid.`,
      ].join('\n'),
    )
  } catch (error) {
    if (!(error instanceof StartupError && options.json)) throw error
    const whole: Problem = { severity: 'error', key: '', message: error.message, source: null }
    const problems = error instanceof ConfigError ? error.problems : [whole]
    console.log(JSON.stringify({ valid: false, problems }, null, 2))
    process.exitCode = 1
  }
}

/** Makes the checks of a start that are about the configuration alone, and are not made while it is read. @throws StartupError */
export async function checkStart({ config }: LoadedConfig): Promise<void> {
  const { tls } = config.listen
  const { StartupError } = await import('../../core/errors.ts')
  if ((config.database as { driver?: string }).driver === 'postgres' && !config.secret)
    throw new StartupError(
      'Several machines can share this database, so each needs the same `secret` in its configuration: that of the platform, or for a new one: openssl rand -base64 32',
    )
  if (!tls.cert) return
  const { checkPair, readPair } = await import('../../core/origins/certificate-files.ts')
  checkPair(await readPair(tls), tls)
}

/** Returns the packs of credits for sale with their prices. @throws StartupError for a price that can't be charged */
async function packsOf(loaded: LoadedConfig): Promise<PricedPack[]> {
  const [{ openDriver }, { pricedPacks }] = await Promise.all([
    import('../open-driver.ts'),
    import('../../plugins/billing/price.ts'),
  ])
  const payments = await openDriver<Payments>(loaded, 'payments', loaded.config.dataDir)
  await payments.close()
  return pricedPacks(payments)
}

async function print(options: Options): Promise<void> {
  const { maskSecrets, printConfig } = await import('../../config/print.ts')
  const { config, schema } = await loadProgramConfig(options)
  printResult(options, maskSecrets(config, schema), () => printConfig(config, schema).trimEnd())
}
