import { type Command, InvalidArgumentError } from 'commander'
import { systemClock } from '../../core/clock.ts'
import type { KeyGroup } from '../../core/data/key-rings.ts'
import type { Installation } from '../installation.ts'
import { printResult, withJson } from '../json-output.ts'
import { type ConfigOptions, loadPlatformConfig, withFileOptions } from '../options.ts'

type Options = ConfigOptions & { now?: true; json?: true }

const WHICH: Record<string, KeyGroup[]> = {
  signing: ['signing'],
  sessions: ['sessions'],
  all: ['signing', 'sessions'],
}

/** The message about the previous keys. */
const AFTERWARDS: Record<KeyGroup, { overlap: string; now: string }> = {
  signing: {
    overlap: 'Id tokens are signed with the next key. The former one stays published for a day.',
    now: 'Id tokens are signed with a new key. Former keys are no longer published.',
  },
  sessions: {
    overlap: 'Sign-ins to games get a new key. Existing ones stay valid until they expire, within 7 days.',
    now: 'Sign-ins to games have ended. Players who are signed in to the platform come back in with one press.',
  },
}

export function configure(keys: Command, installation: Installation): void {
  keys
    .description('The keys that sign id tokens and seal sign-ins to games, from the machine that has the data.')
    .addHelpText(
      'after',
      `
Examples:
  gameyard keys rotate
  gameyard keys rotate sessions --now`,
    )
  withJson(withFileOptions(keys.command('rotate')))
    .summary('replace keys with new ones')
    .description(
      'Replaces keys with new ones, also while the platform runs: every node uses them within a second. What the former keys have signed or sealed stays valid until it expires. With --now it becomes invalid at once, for keys that were stolen.',
    )
    .argument('[which]', 'signing (of id tokens), sessions (of games) or all', which, 'all')
    .option('--now', 'make the former keys invalid at once')
    .addHelpText(
      'after',
      `
Examples:
  gameyard keys rotate
  gameyard keys rotate signing --config /etc/gameyard/gameyard.yaml
  gameyard keys rotate all --now`,
    )
    .action((name: string, options: Options) => rotate(name, options, installation))
}

function which(text: string): string {
  if (!Object.hasOwn(WHICH, text)) throw new InvalidArgumentError(`expected ${Object.keys(WHICH).join(', ')}.`)
  return text
}

async function rotate(name: string, { now, ...options }: Options, { version }: Installation) {
  const [{ withDatabase }, { KeyRings }, { Keys }] = await Promise.all([
    import('../open-database.ts'),
    import('../../core/data/key-rings.ts'),
    import('../../core/data/keys.ts'),
  ])
  const loaded = await loadPlatformConfig(options)
  const groups = WHICH[name] ?? []
  const immediate = now === true
  await withDatabase(loaded, { name: 'keys', version }, async ({ db, events }) => {
    const rings = new KeyRings({ db, clock: systemClock, keys: await Keys.open(loaded.config), events })
    for (const group of groups) await rings.rotate(group, { immediate })
  })
  printResult(options, { rotated: groups, immediate }, () =>
    groups.map((group) => AFTERWARDS[group][immediate ? 'now' : 'overlap']).join('\n'),
  )
}
