import type { Command } from 'commander'
import { systemClock } from '../../core/clock.ts'
import { InvalidRequest } from '../../core/errors.ts'
import type { Case, Decision, DecisionParts, Decisions } from '../../plugins/moderation/index.ts'
import { commandActor } from '../admin-services.ts'
import type { Installation } from '../installation.ts'
import { printResult, withJson } from '../json-output.ts'
import { type ConfigOptions, loadPlatformConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true }
type SuspendOptions = Options & { reason: string }

/** The maximum number of listed targets. */
const LISTED = 1000

/** Configures `gameyard admin reports`. */
export function configureReports(reports: Command, installation: Installation): void {
  reports
    .summary('list reports, and decide about them')
    .description('Lists what has open reports, and decides about it. The queue at /admin/reports does more.')
    .addHelpText(
      'after',
      `
Examples:
  gameyard admin reports list
  gameyard admin reports dismiss gam_01KAR5N8J6T5XQ3E0V9W2B7C4D
  gameyard admin reports suspend gam_01KAR5N8J6T5XQ3E0V9W2B7C4D --reason "Uses pictures of somebody else."
  gameyard admin reports undo dec_01KAR5P2M1Z8Y7X6W5V4T3S2R1`,
    )
  withJson(withConfigOptions(reports.command('list')))
    .summary('list what has open reports')
    .description('Lists what has open reports: urgent ones first, then those with most reports, then the oldest.')
    .addHelpText('after', '\nExample:\n  gameyard admin reports list --json')
    .action((options: Options) => list(options, installation))
  withJson(withConfigOptions(reports.command('dismiss')))
    .summary('dismiss the reports about something')
    .description('Closes the reports about a game, an asset or a player. The reporters are told ten minutes later.')
    .argument('<id>', 'id of the game, asset or player')
    .addHelpText('after', '\nExample:\n  gameyard admin reports dismiss gam_01KAR5N8J6T5XQ3E0V9W2B7C4D')
    .action((id: string, options: Options) =>
      withDecisions(options, installation, async (decisions) =>
        printDecision(options, await decisions.decide(id, { action: 'dismiss' }, commandActor())),
      ),
    )
  withJson(withConfigOptions(reports.command('suspend')))
    .summary('suspend a reported game')
    .description(
      'Suspends a reported game, and upholds the reports about it. A server without a bus sees it within seconds.',
    )
    .argument('<id>', 'id of the game')
    .requiredOption('--reason <text>', 'what its maker reads')
    .addHelpText(
      'after',
      '\nExample:\n  gameyard admin reports suspend gam_01KAR5N8J6T5XQ3E0V9W2B7C4D --reason "Spam."',
    )
    .action((id: string, { reason, ...options }: SuspendOptions) =>
      withDecisions(options, installation, async (decisions) => {
        if (!id.startsWith('gam_'))
          throw new InvalidRequest('This suspends games. Decide about others at /admin/reports.')
        printDecision(options, await decisions.decide(id, { action: 'suspend', message: reason }, commandActor()))
      }),
    )
  withJson(withConfigOptions(reports.command('undo')))
    .summary('undo a decision')
    .description('Opens the reports of a decision again, and lifts the suspension that it made.')
    .argument('<decision>', 'id of the decision, as the command printed it')
    .addHelpText('after', '\nExample:\n  gameyard admin reports undo dec_01KAR5P2M1Z8Y7X6W5V4T3S2R1')
    .action((id: string, options: Options) =>
      withDecisions(options, installation, async (decisions) => {
        const { reports: count } = await decisions.undo(id, commandActor())
        printResult(
          options,
          { id, undone: true, reports: count },
          () => `Undone. ${count} ${count === 1 ? 'report is' : 'reports are'} open again.`,
        )
      }),
    )
}

async function list(options: Options, { version }: Installation): Promise<void> {
  const [{ withDatabase }, { readCases }] = await Promise.all([
    import('../open-database.ts'),
    import('../../plugins/moderation/index.ts'),
  ])
  const loaded = await loadPlatformConfig(options)
  await withDatabase(loaded, { name: 'admin', version }, async ({ db }) => {
    const cases = await readCases(db, { limit: LISTED, offset: 0 })
    printResult(options, cases, () =>
      cases.length === 0
        ? 'No report is open.'
        : [...cases.map(lineOf), '', `See them at ${loaded.config.portal.url}/admin/reports`].join('\n'),
    )
  })
}

const lineOf = ({ kind, id, reports, categories, urgent, firstAt }: Case): string =>
  `${kind.padEnd(6)} ${id}  ${String(reports).padStart(3)}  ${firstAt.toISOString().slice(0, 10)}  ${urgent ? 'URGENT ' : ''}${categories.join(', ')}`

function printDecision(options: Options, { id, action, target, reports }: Decision): void {
  const verb = action === 'dismiss' ? 'Dismissed' : 'Suspended'
  printResult(
    options,
    { id, action, target: { kind: target.kind, id: target.id }, reports },
    () =>
      `${verb}: ${target.kind} ${target.id} (${reports} ${reports === 1 ? 'report' : 'reports'}).\nUndo it with: gameyard admin reports undo ${id}`,
  )
}

/** Runs work with the decisions of the configured database. They suspend games only, and disable nobody. */
async function withDecisions(
  options: ConfigOptions,
  { version }: Installation,
  work: (decisions: Decisions) => Promise<void>,
): Promise<void> {
  const [{ withDatabase }, { GameLookup, suspensionsOfGames }, { Decisions }, { Origins }, { Jobs }, { createLog }] =
    await Promise.all([
      import('../open-database.ts'),
      import('../../plugins/games/index.ts'),
      import('../../plugins/moderation/index.ts'),
      import('../../core/origins/origins.ts'),
      import('../../core/jobs/jobs.ts'),
      import('../../core/observe/log.ts'),
    ])
  const loaded = await loadPlatformConfig(options)
  const clock = systemClock
  await withDatabase(loaded, { name: 'admin', version }, async ({ db, events }) => {
    const games = new GameLookup({ db, clock, events, origins: new Origins(loaded.config) })
    const suspensions = suspensionsOfGames({ db, clock }, games)
    const targets: DecisionParts['targets'] = {
      async find({ kind, id }) {
        const game = kind === 'game' ? await games.evenDeleted(id) : null
        if (!game) return null
        const { title, ownerId, createdAt, suspended } = game
        const page = `/games/${game.slug}`
        const makerIds = [ownerId, ...game.makerIds]
        return { kind, id, title, ownerId, makerIds, page, createdAt, suspended: suspended?.reason ?? null, look: null }
      },
      suspendIn: (em, { id }, how) => suspensions.suspendIn(em, id, how),
      undoIn: (em, { id }, how) => suspensions.undoIn(em, id, how),
      causeIn: (em, { id }) => suspensions.causeIn(em, id),
    }
    const jobs = new Jobs({ db, clock, events, log: createLog('warn', process.stderr) })
    await work(new Decisions({ db, clock, jobs, targets, administration: null }))
  })
}
