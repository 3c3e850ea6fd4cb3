import type { Command } from 'commander'
import type { Game, Medium } from '../../clients/cli/games.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { game?: string }

/**
 * Configures `gameyard games media …`: the pictures and videos of the page of a game.
 *
 * @param chosen returns the target game
 */
export function configureMedia(
  games: Command,
  installation: Installation,
  chosen: (client: Client, named: string | undefined) => Promise<{ game: Game }>,
): void {
  const media = games
    .command('media')
    .summary('the pictures and videos of a game')
    .description(
      'The pictures and videos on the page of a game. Its cover is on cards and in previews of links: the first picture, or the one that you choose.',
    )
    .addHelpText(
      'after',
      `
Examples:
  gameyard games media add cover.png --cover
  gameyard games media add level-1.png level-2.png trailer.mp4
  gameyard games media list`,
    )
  const command = (name: string, summary: string, description: string) =>
    withClientOptions(media.command(name))
      .summary(summary)
      .description(description)
      .option('--game <game>', 'slug or id; default: that of gameyard.json')
  const run = (options: Options, work: (client: Client, game: Game) => Promise<void>) =>
    runClient(options, installation, async (client) => work(client, (await chosen(client, options.game)).game))

  command('list', 'list them', 'Lists the pictures and videos of a game.').action((options: Options) =>
    run(options, list),
  )
  command(
    'add',
    'add pictures and videos',
    'Adds pictures (PNG, JPEG, WebP, GIF; up to 10 MiB) and videos (MP4, WebM; up to 100 MiB), at most 12 in all.',
  )
    .argument('<files...>', 'what to add')
    .option('--cover', 'make the first picture of these the cover')
    .action((files: string[], options: Options & { cover?: true }) =>
      run(options, (client, game) => add(client, game, files, options.cover === true)),
    )
  command('cover', 'choose the cover', 'Makes a picture of the game its cover.')
    .argument('<medium>', 'its id; none: the first picture')
    .action((id: string, options: Options) => run(options, (client, game) => choose(client, game, id)))
  command('remove', 'remove one', 'Removes a picture or video from the game.')
    .argument('<medium>', 'its id')
    .action((id: string, options: Options) => run(options, (client, game) => remove(client, game, id)))
}

async function list({ terminal }: Client, { media, coverUrl }: Game): Promise<void> {
  terminal.result({ media, coverUrl }, () =>
    media.length === 0
      ? 'The game has no pictures. Add one: gameyard games media add cover.png'
      : terminal.table(
          ['ID', 'KIND', 'SIZE', 'COVER', 'ADDRESS'],
          media.map(({ id, kind, width, height, url }) => [
            id,
            kind,
            `${width} × ${height}`,
            url === coverUrl ? 'cover' : '-',
            url,
          ]),
        ),
  )
}

async function add(client: Client, game: Game, files: string[], isCover: boolean): Promise<void> {
  const { terminal, env } = client
  const [api, { fileToSend, sendFile }] = await Promise.all([client.api(), import('../../clients/cli/send-file.ts')])
  // A missing file is found before anything is sent.
  const found = await Promise.all(files.map((file) => fileToSend(file)))
  const added: Medium[] = []
  for (const file of found) {
    const path = `/api/games/${game.id}/media`
    try {
      added.push(await sendFile<Medium>({ api, terminal, env }, file, { path }))
    } catch (error) {
      for (const [index, { id }] of added.entries()) terminal.note(`Added ${id}: ${files[index]}`)
      terminal.note(`Not added: ${files.slice(added.length).join(', ')}`)
      throw error
    }
  }
  const cover = isCover ? (added.find(({ kind }) => kind === 'image')?.id ?? null) : null
  if (cover !== null) await api.patch(`/api/games/${game.id}`, { coverMediaId: cover })
  if (isCover && cover === null) terminal.note('None of these is a picture, so the cover stays as it is.')
  terminal.result({ media: added, coverMediaId: cover }, () =>
    added.map(({ id, url }) => `Added ${id}${id === cover ? ', the cover' : ''}: ${url}`).join('\n'),
  )
}

async function choose(client: Client, game: Game, id: string): Promise<void> {
  const api = await client.api()
  const coverMediaId = id === 'none' ? null : id
  const { coverUrl } = await api.patch<Game>(`/api/games/${game.id}`, { coverMediaId })
  client.terminal.result({ coverMediaId, coverUrl }, () =>
    coverUrl === null ? `${game.title} has no cover.` : `The cover of ${game.title} is ${coverUrl} now.`,
  )
}

async function remove(client: Client, game: Game, id: string): Promise<void> {
  const api = await client.api()
  await api.delete(`/api/games/${game.id}/media/${encodeURIComponent(id)}`)
  client.terminal.result({ removed: id }, () => `Removed ${id} from ${game.title}.`)
}
