import type { Command } from 'commander'
import { systemClock } from '../../core/clock.ts'
import { configOf } from '../../core/plugin.ts'
import type { AuthConfig, PasswordAuthentication, Players } from '../../plugins/oauth-idp/index.ts'
import type { Installation } from '../installation.ts'
import { type ConfigOptions, loadProgramConfig, withConfigOptions } from '../options.ts'

type CreateOptions = ConfigOptions & { email: string; name: string }
type ResetOptions = ConfigOptions & { email: string }

export function configure(admin: Command, installation: Installation): void {
  admin.description('Creates administrators and sets passwords, in a shell on the server.').addHelpText(
    'after',
    `
Examples:
  gameyard admin create --email ada@example.org --name Ada
  gameyard admin reset-password --email ada@example.org`,
  )
  withConfigOptions(admin.command('create'))
    .summary('make an administrator')
    .description('Creates an administrator. The command asks for the password, or reads it from standard input.')
    .requiredOption('--email <address>', 'their email address, for sign-in')
    .requiredOption('--name <name>', 'the name that others see')
    .addHelpText(
      'after',
      `
Examples:
  gameyard admin create --email ada@example.org --name Ada
  gameyard admin create --email ada@example.org --name Ada < password.txt`,
    )
    .action((options: CreateOptions) => create(options, installation))
  withConfigOptions(admin.command('reset-password'))
    .summary('set the password of an account')
    .description('Sets the password of any account, and signs it out everywhere.')
    .requiredOption('--email <address>', 'the email address of the account')
    .addHelpText('after', '\nExample:\n  gameyard admin reset-password --email ada@example.org')
    .action((options: ResetOptions) => resetPassword(options, installation))
}

async function create({ email, name, ...options }: CreateOptions, installation: Installation): Promise<void> {
  await withAccounts(options, installation, async ({ players }) => {
    const password = await newPassword()
    const player = await players.createAdmin({ email, name, password })
    console.log(`${player.name} (${player.email}) is an administrator now.`)
  })
}

async function resetPassword({ email, ...options }: ResetOptions, installation: Installation): Promise<void> {
  await withAccounts(options, installation, async ({ passwords }) => {
    const password = await newPassword()
    const player = await passwords.reset(email, password)
    console.log(`${player.name} (${player.email}) has a new password and is signed out everywhere.`)
  })
}

async function newPassword(): Promise<string> {
  const { readPassword } = await import('../password.ts')
  return readPassword()
}

/** The accounts of the configured database, without the platform around them: it may run meanwhile or not. */
async function withAccounts(
  options: ConfigOptions,
  { version }: Installation,
  work: (accounts: { players: Players; passwords: PasswordAuthentication }) => Promise<void>,
): Promise<void> {
  const [{ withDatabase }, oauthIdp, { RateLimiter }, { createLog }] = await Promise.all([
    import('../open-database.ts'),
    import('../../plugins/oauth-idp/index.ts'),
    import('../../core/http/rate-limit.ts'),
    import('../../core/observe/log.ts'),
  ])
  const loaded = await loadProgramConfig(options)
  const context = { clock: systemClock, log: createLog('warn', process.stderr) }
  await withDatabase(loaded, { name: 'admin', version, make: true }, async ({ db, bus, events }) => {
    const rateLimiter = new RateLimiter({ ...context, bus, enabled: false })
    const auth = configOf(oauthIdp.default, loaded.config) as AuthConfig
    const hasher = new oauthIdp.PasswordHasher(auth.passwordHashing)
    const portalUrl = loaded.config.portal.url
    const around = { ...context, ...auth, db, events, rateLimiter, hasher, portalUrl }
    const players = new oauthIdp.Players(around)
    const passwords = new oauthIdp.PasswordAuthentication({ ...around, players, signInAttemptsPerMinute: 1 })
    await work({ players, passwords })
  })
}
