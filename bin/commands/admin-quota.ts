import { type Command, InvalidArgumentError, Option } from 'commander'
import type { LimitChanges } from '../../plugins/quotas/index.ts'
import { commandActor, withQuotas } from '../admin-services.ts'
import type { Installation } from '../installation.ts'
import { printResult, withJson } from '../json-output.ts'
import { type ConfigOptions, withConfigOptions } from '../options.ts'

/** Commander takes null for a missing value, so no limit is a word here. */
type Limit = number | 'none' | 'default'
interface QuotaOptions extends ConfigOptions {
  json?: true
  storage?: Limit
  games?: Limit
  assets?: Limit
  uploads?: Limit
  none?: true
  default?: true
}

/** Adds `gameyard admin quota`, which shows and changes the limits of one player. */
export function configureQuota(admin: Command, installation: Installation): void {
  const limit = (flags: string, description: string, parse: (text: string) => number) =>
    new Option(flags, description).argParser((text) => limitOf(text, parse))
  withJson(withConfigOptions(admin.command('quota')))
    .summary('show or change what a player may store')
    .description(
      'Shows what a player may have, or changes it. A number holds at once and for this player only; `none` is no limit, `default` the number of the configuration.',
    )
    .argument('<player>', 'email address or player id')
    .addOption(limit('--storage <bytes>', 'bytes kept for them, such as 20GiB', bytesOf))
    .addOption(limit('--uploads <bytes>', 'bytes that they may upload in a day', bytesOf))
    .addOption(limit('--games <number>', 'their games', numberOf))
    .addOption(limit('--assets <number>', 'their assets', numberOf))
    .addOption(new Option('--none', 'no limit at all').conflicts('default'))
    .option('--default', 'every number as configured')
    .addHelpText(
      'after',
      `
Examples:
  gameyard admin quota bob@example.org
  gameyard admin quota bob@example.org --storage 20GiB --games none
  gameyard admin quota bob@example.org --default`,
    )
    .action((player: string, options: QuotaOptions) => quota(player, options, installation))
}

async function quota(player: string, options: QuotaOptions, installation: Installation): Promise<void> {
  const changes = changesOf(options)
  await withQuotas(options, installation, async ({ limits, find }) => {
    const { id, name } = await find(player)
    if (Object.keys(changes).length > 0) await limits.change(id, changes, commandActor())
    const [effective, overrides] = await Promise.all([limits.of(id), limits.overridesOf(id)])
    const { formatBytes } = await import('../../core/format-bytes.ts')
    const lines = Object.entries(effective).map(([limit, value]) => {
      const { label, inBytes } = LABELS[limit as keyof typeof LABELS]
      const said = value === null ? 'no limit' : inBytes ? formatBytes(value) : String(value)
      return `\n  ${label.padEnd(16)} ${said}${Object.hasOwn(overrides, limit) ? '' : ' (as configured)'}`
    })
    const result = { id, name, limits: effective, changed: Object.keys(overrides) }
    printResult(options, result, () => `${name} (${id}) may have:${lines.join('')}`)
  })
}

const LABELS: Record<keyof LimitChanges, { label: string; inBytes: boolean }> = {
  storageBytesPerPlayer: { label: 'storage', inBytes: true },
  gamesPerPlayer: { label: 'games', inBytes: false },
  assetsPerPlayer: { label: 'assets', inBytes: false },
  uploadBytesPerDay: { label: 'uploads a day', inBytes: true },
}

/** Returns the changed limits. An option for one limit wins over `--none` and `--default`. */
function changesOf({ storage, games, assets, uploads, none, default: configured }: QuotaOptions): LimitChanges {
  const all: Limit | undefined = none ? 'none' : configured ? 'default' : undefined
  const chosen: LimitChanges = {}
  const set = (name: keyof LimitChanges, value: Limit | undefined) => {
    if (value !== undefined) chosen[name] = value === 'none' ? null : value
  }
  set('storageBytesPerPlayer', storage ?? all)
  set('gamesPerPlayer', games ?? all)
  set('assetsPerPlayer', assets ?? all)
  set('uploadBytesPerDay', uploads ?? all)
  return chosen
}

const limitOf = (text: string, parse: (text: string) => number): Limit =>
  text === 'none' || text === 'default' ? text : parse(text)

const UNITS = ['', 'kib', 'mib', 'gib', 'tib']

/** Parses bytes, with or without a binary unit: `500MiB`. @throws InvalidArgumentError */
function bytesOf(text: string): number {
  const [, number, unit = ''] = /^(\d{1,15}(?:\.\d+)?)\s*([kmgt]ib)?$/i.exec(text) ?? []
  const bytes = Math.round(Number(number) * 1024 ** UNITS.indexOf(unit.toLowerCase()))
  if (!Number.isSafeInteger(bytes)) throw new InvalidArgumentError('expected bytes such as 20GiB, none or default.')
  return bytes
}

function numberOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('expected a number, none or default.')
  return Number(text)
}
