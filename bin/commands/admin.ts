import { mkdir } from 'node:fs/promises'
import type { Command } from 'commander'
import { systemClock } from '../../core/clock.ts'
import type { Bus } from '../../core/events.ts'
import { configOf } from '../../core/plugin.ts'
import type { AuthConfig, Players } from '../../plugins/oauth-idp/index.ts'
import { type ConfigOptions, loadProgramConfig, withConfigOptions } from '../options.ts'

type CreateOptions = ConfigOptions & { email: string; name: string }
type ResetOptions = ConfigOptions & { email: string }

export function configure(admin: Command): void {
  admin.description('Administrators and passwords, from the shell of the machine that has the data.').addHelpText(
    'after',
    `
Examples:
  gameyard admin create --email ada@example.org --name Ada
  gameyard admin reset-password --email ada@example.org`,
  )
  withConfigOptions(admin.command('create'))
    .summary('make an administrator')
    .description('Makes an administrator. The password is asked for, or read from standard input.')
    .requiredOption('--email <address>', 'what they sign in with')
    .requiredOption('--name <name>', 'what others see')
    .addHelpText(
      'after',
      `
Examples:
  gameyard admin create --email ada@example.org --name Ada
  gameyard admin create --email ada@example.org --name Ada < password.txt`,
    )
    .action(create)
  withConfigOptions(admin.command('reset-password'))
    .summary('set the password of an account')
    .description('Sets the password of any account, and signs it out everywhere.')
    .requiredOption('--email <address>', 'whose password')
    .addHelpText('after', '\nExample:\n  gameyard admin reset-password --email ada@example.org')
    .action(resetPassword)
}

async function create({ email, name, ...options }: CreateOptions): Promise<void> {
  await withPlayers(options, async (players) => {
    const password = await newPassword()
    const player = await players.createAdmin({ email, name, password })
    console.log(`${player.name} (${player.email}) is an administrator now.`)
  })
}

async function resetPassword({ email, ...options }: ResetOptions): Promise<void> {
  await withPlayers(options, async (players) => {
    const password = await newPassword()
    const player = await players.resetPassword(email, password)
    console.log(`${player.name} (${player.email}) has a new password and is signed out everywhere.`)
  })
}

async function newPassword(): Promise<string> {
  const { readPassword } = await import('../password.ts')
  return readPassword()
}

/** The accounts of the configured database, without the platform around them: it may run meanwhile or not. */
async function withPlayers(options: ConfigOptions, work: (players: Players) => Promise<void>): Promise<void> {
  const [{ openDriver }, { openDatabase }, { default: identity, Players }, { Events }, { RateLimiter }, { createLog }] =
    await Promise.all([
      import('../standalone.ts'),
      import('../../core/kernel.ts'),
      import('../../plugins/oauth-idp/index.ts'),
      import('../../core/events.ts'),
      import('../../core/rate-limit.ts'),
      import('../../core/log.ts'),
    ])
  const loaded = await loadProgramConfig(options)
  const { config, plugins } = loaded
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  const context = { clock: systemClock, log: createLog('warn') }
  const bus = await openDriver<Bus>(loaded, 'bus', config.dataDir)
  const db = await openDatabase(await openDriver(loaded, 'database', config.dataDir), plugins, context)
  try {
    // Other nodes hear of a new password over the bus; where there is none they see it within five seconds.
    const events = new Events(bus, context.log, 'admin')
    const rateLimiter = new RateLimiter({ ...context, bus, enabled: false })
    const auth = configOf(identity, config) as AuthConfig
    const portalUrl = config.portal.url
    await work(new Players({ ...context, ...auth, db, events, rateLimiter, portalUrl, signInAttemptsPerMinute: 1 }))
  } finally {
    await db.close()
    await bus.close()
  }
}
