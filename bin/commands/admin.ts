import { type Command, Option } from 'commander'
import { InvalidRequest, NotFound } from '../../core/errors.ts'
import type { Role } from '../../core/http/auth.ts'
import type { Player, RemovedMethods } from '../../plugins/oauth-idp/index.ts'
import { commandActor, findPlayer, withAccounts, withSuspensions, withTrust } from '../admin-services.ts'
import type { Installation } from '../installation.ts'
import { printResult, withJson } from '../json-output.ts'
import { type ConfigOptions, loadPlatformConfig, withConfigOptions } from '../options.ts'
import { configureInvite } from './admin-invite.ts'
import { configureQuota } from './admin-quota.ts'
import { configureReports } from './admin-reports.ts'

type Options = ConfigOptions & { json?: true }
type CreateOptions = Options & { email: string; name: string; role: 'admin' | 'player' }
type ResetOptions = Options & { email: string; keepMethods?: boolean }
type EmailOptions = Options & { email: string; to: string }
type RoleOptions = Options & { email: string; role: Role }
type TrustOptions = Options & { off?: true }
type SuspendOptions = Options & { reason: string }
type AuditOptions = ConfigOptions & { search?: string }

const listed = new Intl.ListFormat('en-GB')
const METHODS = [
  ['passkeys', 'passkey'],
  ['providers', 'sign-in provider'],
  ['tokens', 'token'],
] as const

export function configure(admin: Command, installation: Installation): void {
  admin.description('Looks after accounts and games, in a shell on the server.').addHelpText(
    'after',
    `
Examples:
  gameyard admin create --email ada@example.org --name Ada
  gameyard admin invite --names class.txt > links.txt
  gameyard admin reset-password --email ada@example.org
  gameyard admin email --email stolen@example.org --to ada@example.org
  gameyard admin role --email bob@example.org --role moderator
  gameyard admin suspend pong --reason "Uses pictures of somebody else."
  gameyard admin reports list
  gameyard admin quota bob@example.org --storage 20GiB
  gameyard admin audit --search game.suspend

Each change leaves a row in the audit.`,
  )
  withJson(withConfigOptions(admin.command('create')))
    .summary('make an administrator, or the account of a player')
    .description(
      'Creates an account, that of an administrator without --role, whether or not the server takes new accounts. The command asks for the password, or reads it from standard input. Before the first start, --config or --data names the platform.',
    )
    .requiredOption('--email <address>', 'their email address, for sign-in')
    .requiredOption('--name <name>', 'the name that others see')
    .addOption(new Option('--role <role>', 'the role of the account').choices(['admin', 'player']).default('admin'))
    .addHelpText(
      'after',
      `
Examples:
  gameyard admin create --email ada@example.org --name Ada
  gameyard admin create --email ada@example.org --name Ada < password.txt
  gameyard admin create --email bob@example.org --name Bob --role player`,
    )
    .action((options: CreateOptions) => create(options, installation))
  configureInvite(admin, installation)
  withJson(withConfigOptions(admin.command('reset-password')))
    .summary('set the password of an account')
    .description(
      'Sets the password of any account, signs it out everywhere, and removes its passkeys, sign-in providers and tokens: somebody else may have added them.',
    )
    .requiredOption('--email <address>', 'the email address of the account')
    .option('--keep-methods', 'keep passkeys, sign-in providers and tokens')
    .addHelpText(
      'after',
      `
Examples:
  gameyard admin reset-password --email ada@example.org
  gameyard admin reset-password --email ada@example.org --keep-methods`,
    )
    .action((options: ResetOptions) => resetPassword(options, installation))
  withJson(withConfigOptions(admin.command('email')))
    .summary('change the email address of an account')
    .description(
      'Changes the address of any account, and signs it out everywhere. To give back an account that somebody else has taken over, set its password, too.',
    )
    .requiredOption('--email <address>', 'the email address of the account')
    .requiredOption('--to <address>', 'the new address')
    .addHelpText(
      'after',
      `
Example:
  gameyard admin email --email stolen@example.org --to ada@example.org
  gameyard admin reset-password --email ada@example.org`,
    )
    .action((options: EmailOptions) => changeEmail(options, installation))
  withJson(withConfigOptions(admin.command('sign-out')))
    .summary('sign a player out everywhere')
    .description(
      'Ends all sessions of an account, at games and in applications, too. Its password and its API tokens stay. A running server without a bus sees it within seconds.',
    )
    .argument('<player>', 'email address or player id')
    .addHelpText('after', '\nExample:\n  gameyard admin sign-out bob@example.org')
    .action((player: string, options: Options) => signOut(player, options, installation))
  withJson(withConfigOptions(admin.command('role')))
    .summary('make somebody a moderator, an administrator or a player')
    .description('Says what the owner of an account may do. A running server without a bus sees it within seconds.')
    .requiredOption('--email <address>', 'the email address of the account')
    .addOption(
      new Option('--role <role>', 'the new role').choices(['player', 'moderator', 'admin']).makeOptionMandatory(),
    )
    .addHelpText('after', '\nExample:\n  gameyard admin role --email bob@example.org --role moderator')
    .action((options: RoleOptions) => setRole(options, installation))
  withJson(withConfigOptions(admin.command('trust')))
    .summary('let a player publish games without approval')
    .description(
      'Trusts a player: their games need no approval where `games.publish` is approve or trusted, and those that wait are published.',
    )
    .argument('<player>', 'email address or player id')
    .option('--off', 'trust them no longer; published games stay published')
    .addHelpText(
      'after',
      '\nExamples:\n  gameyard admin trust bob@example.org\n  gameyard admin trust bob@example.org --off',
    )
    .action((player: string, options: TrustOptions) => trust(player, options, installation))
  withJson(withConfigOptions(admin.command('suspend')))
    .summary('suspend a game')
    .description('Suspends a game: nobody can play it. A running server without a bus sees it within seconds.')
    .argument('<game>', 'slug or id')
    .requiredOption('--reason <text>', 'what its maker reads')
    .addHelpText('after', '\nExample:\n  gameyard admin suspend pong --reason "Uses pictures of somebody else."')
    .action((game: string, options: SuspendOptions) => suspend(game, options, installation))
  withJson(withConfigOptions(admin.command('lift')))
    .summary('lift the suspension of a game')
    .description('Lets players into a suspended game again. A running server without a bus sees it within seconds.')
    .argument('<game>', 'slug or id')
    .addHelpText('after', '\nExample:\n  gameyard admin lift pong')
    .action((game: string, options: Options) => lift(game, options, installation))
  configureReports(admin.command('reports'), installation)
  configureQuota(admin, installation)
  withConfigOptions(admin.command('audit'))
    .summary('print what the staff did')
    .description('Prints every action of administrators, moderators and this command as JSON lines, newest first.')
    .option('--search <text>', 'an id, an action such as game.suspend, or part of a reason')
    .addHelpText('after', '\nExample:\n  gameyard admin audit --search game.suspend > audit.jsonl')
    .action((options: AuditOptions) => printAudit(options, installation))
}

async function create({ email, name, role, ...options }: CreateOptions, installation: Installation): Promise<void> {
  await withAccounts({ ...options, make: true }, installation, async ({ players }) => {
    const password = await newPassword()
    const player = await players.createByHost({ email, name, password }, role, commandActor())
    printResult(options, shown(player), () =>
      role === 'admin'
        ? `${player.name} (${player.email}) is an administrator now.`
        : `${player.name} (${player.email}) has an account now.`,
    )
  })
}

async function resetPassword({ email, keepMethods = false, ...options }: ResetOptions, installation: Installation) {
  await withAccounts(options, installation, async ({ rescue }) => {
    const password = await newPassword()
    const { player, removed } = await rescue.resetPassword(email, password, { by: commandActor(), keepMethods })
    printResult(
      options,
      { ...shown(player), removed },
      () => `${player.name} (${player.email}) has a new password and is signed out everywhere.${inWords(removed)}`,
    )
  })
}

/** Says which sign-in methods were removed. */
function inWords(removed: RemovedMethods): string {
  const parts = METHODS.flatMap(([name, thing]) => {
    const count = removed[name] ?? 0
    return count > 0 ? `${count} ${thing}${count === 1 ? '' : 's'}` : []
  })
  const isOne = parts.length === 1 && Object.values(removed)[0] === 1
  return parts.length === 0 ? '' : `\n${listed.format(parts)} ${isOne ? 'was' : 'were'} removed.`
}

async function changeEmail({ email, to, ...options }: EmailOptions, installation: Installation): Promise<void> {
  await withAccounts(options, installation, async ({ rescue }) => {
    const player = await rescue.changeEmail(email, to, commandActor())
    printResult(
      options,
      shown(player),
      () => `${player.name} has the address ${player.email} now and is signed out everywhere.`,
    )
  })
}

async function signOut(player: string, options: Options, installation: Installation): Promise<void> {
  await withAccounts(options, installation, async ({ players, administration }) => {
    const { id, name } = await findPlayer(players, player)
    await administration.signOutEverywhere(id, commandActor())
    printResult(options, { id, name, signedOut: true }, () => `${name} is signed out everywhere.`)
  })
}

async function setRole({ email, role, ...options }: RoleOptions, installation: Installation): Promise<void> {
  await withAccounts(options, installation, async ({ players, administration }) => {
    const player = await players.findByEmail(email)
    if (!player) throw new NotFound('player')
    await administration.setRole(player.id, role, commandActor())
    printResult(options, { ...shown(player), role }, () => `${player.name} (${player.email}) has the role ${role} now.`)
  })
}

async function trust(player: string, { off, ...options }: TrustOptions, installation: Installation): Promise<void> {
  await withTrust(options, installation, async ({ administration, find }) => {
    const { id, name } = await find(player)
    await administration.setTrusted(id, !off, commandActor())
    printResult(options, { id, name, trusted: !off }, () =>
      off ? `${name} is no longer trusted.` : `${name} publishes games without approval now.`,
    )
  })
}

async function suspend(
  game: string,
  { reason, ...options }: SuspendOptions,
  installation: Installation,
): Promise<void> {
  if (reason.trim() === '') throw new InvalidRequest('Give the reason with --reason. The maker of the game reads it.')
  await withSuspensions(options, installation, async (suspensions) => {
    const { id, slug, title, url } = await suspensions.suspend(game, reason, commandActor())
    printResult(options, { id, slug, title, url, suspended: true }, () => `${title} (${url}) is suspended.`)
  })
}

async function lift(game: string, options: Options, installation: Installation): Promise<void> {
  await withSuspensions(options, installation, async (suspensions) => {
    const { id, slug, title, url } = await suspensions.lift(game, commandActor())
    printResult(options, { id, slug, title, url, suspended: false }, () => `${title} (${url}) can be played again.`)
  })
}

async function printAudit({ search, ...options }: AuditOptions, { version }: Installation): Promise<void> {
  const [{ withDatabase }, { exportAudit }] = await Promise.all([
    import('../open-database.ts'),
    import('../../core/data/audit.ts'),
  ])
  const loaded = await loadPlatformConfig(options)
  await withDatabase(loaded, { name: 'admin', version }, async ({ db }) => {
    for await (const lines of exportAudit(db, search)) process.stdout.write(lines)
  })
}

const shown = ({ id, name, email, role }: Player): object => ({ id, name, email, role })

async function newPassword(): Promise<string> {
  const { readPassword } = await import('../password.ts')
  return readPassword()
}
