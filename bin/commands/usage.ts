import type { Command } from 'commander'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Quota = 'storageBytesPerPlayer' | 'gamesPerPlayer' | 'assetsPerPlayer' | 'uploadBytesPerDay'

/** The part of `GET /api/usage` that the command shows. */
interface Usage {
  quotas: Record<Quota, { used: number; limit: number | null }>
  largest: { kind: string; id: string; title: string; bytes: number; frees: number | null; removable: boolean }[]
}

/** The number of shown things; `--json` has all that the platform lists. */
const SHOWN = 10

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description('Shows what you store on the platform, how much you may, and what takes the most room.')
    .addHelpText('after', '\nExamples:\n  gameyard usage\n  gameyard usage --json | jq .quotas')
    .action((options: ClientOptions) => runClient(options, installation, show))
}

async function show(client: Client): Promise<void> {
  const { terminal } = client
  const [api, { formatBytes, truncate }] = await Promise.all([client.api(), import('../../clients/cli/terminal.ts')])
  const usage = await api.get<Usage>('/api/usage')
  terminal.result(usage, () => {
    const row = (label: string, quota: Quota, format: (value: number) => string) => {
      const { used, limit } = usage.quotas[quota]
      return [label, format(used), limit === null ? 'no limit' : format(limit)]
    }
    const quotas = terminal.table(
      ['', 'YOU HAVE', 'YOU MAY'],
      [
        row('Storage', 'storageBytesPerPlayer', formatBytes),
        row('Games', 'gamesPerPlayer', String),
        row('Assets', 'assetsPerPlayer', String),
        row('Uploads today', 'uploadBytesPerDay', formatBytes),
      ],
    )
    const largest = usage.largest.slice(0, SHOWN)
    if (largest.length === 0) return quotas
    const things = terminal.table(
      ['SIZE', 'FREES', 'WHAT', 'ID', 'TITLE'],
      largest.map(({ kind, id, title, bytes, frees, removable }) => [
        formatBytes(bytes),
        !removable ? 'in use' : frees === null ? '?' : formatBytes(frees),
        kind,
        id,
        title.length > 40 ? `${truncate(title, 39)}…` : title,
      ]),
    )
    return `${quotas}\n\n${things}`
  })
}
