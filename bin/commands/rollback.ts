import type { Command } from 'commander'
import type { Replacement, Replacements } from '../../clients/cli/deploy/replacements.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { game?: string; list?: true; restartRooms?: true }

interface Deploy {
  id: string
  state: string
  message: string | null
  files: number
  createdAt: string
  liveAt: string | null
  previewUrl: string | null
  pinned: boolean
  /** Absent from older platforms, like `replacedBy`. */
  by?: { id: string; name: string } | null
  replacedBy?: Replacement | null
}

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description(
      'Puts an earlier deploy live again, at once and without an upload: the previous one, or the given one.',
    )
    .argument('[deploy]', 'its id, as --list shows it; also that of a preview')
    .option('--game <game>', 'slug or id (default: that of gameyard.json)')
    .option('--list', 'show the history instead')
    .option('--restart-rooms', 'end the live rooms, so that players come back to rooms with the script of that deploy')
    .addHelpText(
      'after',
      `
Examples:
  gameyard rollback                     to the version before
  gameyard rollback --list              what there is
  gameyard rollback dep_01K…            to that one, or publish a preview`,
    )
    .action((deploy: string | undefined, options: Options) =>
      runClient(options, installation, (client) => run(client, deploy, options)),
    )
}

async function run(
  client: Client,
  named: string | undefined,
  { game: idOrSlug, list, restartRooms }: Options,
): Promise<void> {
  const { terminal } = client
  const [api, { chosenGame }, { CliError }, { formatAgo, plural }, { replacedWords, undoneWords }] = await Promise.all([
    client.api(),
    import('./games.ts'),
    import('../../clients/cli/errors.ts'),
    import('../../clients/cli/terminal.ts'),
    import('../../clients/cli/deploy/replacements.ts'),
  ])
  const { game } = await chosenGame(client, idOrSlug)
  const deploys = await api.all<Deploy>(`/api/games/${game.id}/deploys`, 'deploys', { limit: 100 })
  const now = new Date()
  if (list) {
    return terminal.result({ deploys }, () =>
      terminal.table(
        ['DEPLOY', 'STATE', 'BY', 'WHEN', 'FILES', 'MESSAGE'],
        deploys.map(({ id, state, pinned, by, createdAt, files, message, ...deploy }) => [
          id,
          `${state === 'live' ? terminal.style('green', state) : state}${replacedWords({ by, ...deploy })}${pinned ? ', pinned' : ''}`,
          by?.name ?? '',
          formatAgo(createdAt, now),
          String(files),
          message ?? '',
        ]),
      ),
    )
  }
  const live = deploys.find(({ state }) => state === 'live')
  // The previous version is the one that was live last; after a rollback it need not be the newest.
  const earlier = deploys
    .filter(({ state, liveAt }) => state === 'superseded' && liveAt !== null)
    .sort((a, b) => ((a.liveAt as string) < (b.liveAt as string) ? 1 : -1))
  const target = named === undefined ? earlier[0] : deploys.find(({ id }) => id === named)
  if (!target && named === undefined) {
    const preview = deploys.find(({ state, liveAt }) => state === 'superseded' && liveAt === null)
    throw new CliError(`${game.title} has no earlier version to go back to.`, {
      code: 'nothing_to_restore',
      ...(preview ? { hint: `Publish the newest preview: gameyard rollback ${preview.id} --game ${game.slug}` } : {}),
    })
  }
  const id = target?.id ?? (named as string)
  const result = await api.post<{ url: string; playUrl: string } & Replacements>(
    `/api/deploy/${id}/rollback`,
    undefined,
    {
      query: { restartRooms },
      repeatable: true,
    },
  )
  terminal.result({ ...result, deployId: id, replaced: live && live.id !== id ? live.id : null }, () => {
    const what = target ? `${plural(target.files, 'file')}, of ${formatAgo(target.createdAt, now)}` : id
    const { undoes } = result
    const message = deploys.find(({ id }) => id === undoes?.deployId)?.message
    const undone = undoes ? `\n  Undone  ${undoneWords(undoes, message, now)}` : ''
    const undo = live && live.id !== id ? `\n  Undo    gameyard rollback ${live.id} --game ${game.slug}` : ''
    return `${terminal.style('green', 'Live')}  ${terminal.style('bold', game.title)}  ${terminal.style('dim', what)}\n  Play    ${result.playUrl}${undone}${undo}`
  })
}
