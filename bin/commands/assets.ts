import { type Command, Option } from 'commander'
import { type Asset, describe, pathOf } from '../../clients/cli/assets.ts'
import { type Client, type ClientOptions, collect, positive, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'
import { studio } from '../studio.ts'
import { configureFiles } from './assets-files.ts'

const KINDS = ['model', 'pack', 'image', 'audio', 'animation']

export function configure(assets: Command, installation: Installation): void {
  const run = (options: ClientOptions, work: (client: Client) => Promise<void>) =>
    runClient(options, installation, work)
  assets.description('Hosted models, packs, pictures and sounds. An asset is named by its slug or id.').addHelpText(
    'after',
    `
Examples:
  gameyard assets list --mine
  gameyard assets upload knight.glb --title Knight --license CC0-1.0 --tag medieval --public
  gameyard assets upload castle.zip --game my-game
  gameyard assets list --license CC0-1.0 --kind model
  gameyard assets download knight --variant lod --output public/knight.glb
  gameyard assets animate knight walk --output public/walk.glb
  gameyard assets animate knight --from moves --clip Walking_A`,
  )

  withClientOptions(assets.command('list'))
    .summary('find assets')
    .description(
      'Lists public assets, or with --mine your own, or with --game those of a game that you make, private ones too.',
    )
    .option('--mine', 'your own')
    .option('--game <game>', 'those of this game; slug or id')
    .option('--search <words>', 'words of the title')
    .addOption(new Option('--kind <kind>', 'only these').choices(KINDS))
    .option('--tag <tag>', 'only with this tag')
    .option('--license <spdx>', 'only what may be used under this license, such as CC0-1.0')
    .option('--rigged', 'only models with a rig')
    .addOption(new Option('--limit <number>', 'at most so many').argParser(positive).default(100))
    .action((options) => run(options, (client) => list(client, options)))

  withClientOptions(assets.command('get'))
    .summary('show an asset')
    .argument('<asset>', 'slug or id')
    .option('--manifest', 'show its manifest: every file with its address')
    .action((asset, options) => run(options, (client) => show(client, asset, options)))

  withClientOptions(assets.command('attribution'))
    .summary('print the lines that a game’s credits owe to assets')
    .description(
      'Prints a line for each asset, with its title, author, license and address: those of a game with --game, and any that are named.',
    )
    .argument('[assets...]', 'slugs or ids')
    .option('--game <game>', 'all that belong to this game; slug or id')
    .addHelpText(
      'after',
      `
Examples:
  gameyard assets attribution --game my-game > public/credits.txt
  gameyard assets attribution knight castle`,
    )
    .action((named, options) => run(options, (client) => attribution(client, named, options)))

  configureFiles(assets, installation)

  withClientOptions(assets.command('update'))
    .summary('change what is said about an asset')
    .description('Changes the given fields only. The files of an asset never change.')
    .argument('<asset>', 'slug or id')
    .option('--title <text>', 'its name')
    .option('--description <text>', 'what it is')
    .option('--license <spdx>', 'such as CC0-1.0 or CC-BY-4.0; an empty text for none')
    .option('--author <name>', 'who made it, if not you; an empty text for nobody')
    .option('--tag <tag>', 'in place of its tags; once for each', collect)
    .option('--slug <slug>', 'another address; the old one still leads to it')
    .addOption(new Option('--lod <choice>', 'off: always serve the file as it is').choices(['auto', 'off']))
    .addHelpText('after', '\nExample:\n  gameyard assets update knight --license CC-BY-4.0 --author "Somebody Else"')
    .action((asset, options) => run(options, (client) => update(client, asset, options)))

  withClientOptions(assets.command('move'))
    .summary('put an asset into a game')
    .description(
      'Puts an asset of yours into a game that you make, whose makers may see and change it, or takes it out.',
    )
    .argument('<asset>', 'slug or id')
    .addOption(new Option('--game <game>', 'the game; slug or id').conflicts('out'))
    .option('--out', 'out of its game')
    .action((asset, options) => run(options, (client) => move(client, asset, options)))

  for (const [name, summary] of [
    ['publish', 'let everybody see it'],
    ['unpublish', 'keep it to yourself'],
    ['delete', 'remove it for good'],
  ] as const) {
    withClientOptions(assets.command(name))
      .summary(summary)
      .argument('<asset>', 'slug or id')
      .action((asset, options) => run(options, (client) => change(client, asset, name)))
  }
}

interface ListOptions {
  mine?: true
  game?: string
  search?: string
  kind?: string
  tag?: string
  license?: string
  rigged?: true
  limit: number
}

async function list(client: Client, options: ListOptions): Promise<void> {
  const { terminal } = client
  const [{ api, origin }, { formatBytes, truncate }] = await Promise.all([
    studio(client),
    import('../../clients/cli/terminal.ts'),
  ])
  const { search: q, kind, tag, license, rigged, game: gameId, mine } = options
  const query = { q, kind, tag, license, rigged, gameId, owner: mine ? 'me' : undefined }
  const assets = await api.all<Asset>('/api/assets', 'assets', { origin, query, limit: options.limit })
  terminal.result({ assets }, () =>
    assets.length === 0
      ? 'There are none.'
      : terminal.table(
          ['SLUG', 'TITLE', 'KIND', 'SIZE', 'LICENSE', 'WHO'],
          assets.map(({ slug, title, kind, variants, license, visibility }) => [
            slug,
            title.length > 40 ? `${truncate(title, 39)}…` : title,
            kind,
            formatBytes(variants.source.size),
            license ?? '-',
            visibility,
          ]),
        ),
  )
}

async function show(client: Client, asset: string, { manifest }: { manifest?: true }): Promise<void> {
  const { api, origin } = await studio(client)
  const found = await api.get<Asset>(pathOf(asset, manifest ? '/manifest' : ''), { origin })
  const { formatBytes } = await import('../../clients/cli/terminal.ts')
  client.terminal.result(found, () =>
    manifest ? JSON.stringify(found, null, 2) : describe(client.terminal, found, formatBytes),
  )
}

async function attribution(client: Client, named: readonly string[], { game: gameId }: { game?: string }) {
  const { terminal } = client
  if (named.length === 0 && gameId === undefined) {
    const { usageError } = await import('../../clients/cli/errors.ts')
    throw usageError('Name assets, or a game.', 'Such as: gameyard assets attribution --game my-game')
  }
  const { api, origin } = await studio(client)
  const query = { gameId }
  const ofGame = gameId === undefined ? [] : await api.all<Asset>('/api/assets', 'assets', { origin, query })
  const others: Asset[] = []
  for (const asset of named) others.push(await api.get<Asset>(pathOf(asset), { origin }))
  const byId = new Map([...ofGame, ...others].map((asset) => [asset.id, asset]))
  const assets = [...byId.values()].map(({ slug, title, attribution }) => ({ slug, title, attribution }))
  const unsaid = assets.flatMap(({ slug, attribution }) => (attribution === null ? [slug] : []))
  terminal.result(
    { assets },
    () => assets.flatMap(({ attribution }) => attribution ?? []).join('\n') || 'There are none.',
  )
  if (unsaid.length > 0) terminal.note(`Neither license nor author is given: ${unsaid.join(', ')}`)
}

interface UpdateOptions extends ClientOptions {
  title?: string
  description?: string
  license?: string
  author?: string
  tag?: string[]
  slug?: string
  lod?: string
}

async function update(client: Client, asset: string, options: UpdateOptions): Promise<void> {
  const { title, description, license, author, tag: tags, slug, lod } = options
  const [{ formatBytes }, { usageError }] = await Promise.all([
    import('../../clients/cli/terminal.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  const given = { title, description, license, author, tags, slug, lod }
  const changes = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value === '' && (name === 'license' || name === 'author') ? null : value]],
  )
  if (changes.length === 0) {
    throw usageError('Nothing to change.', 'Name what: gameyard assets update knight --license CC0-1.0')
  }
  const { api, origin } = await studio(client)
  const changed = await api.patch<Asset>(pathOf(asset), Object.fromEntries(changes), { origin })
  client.terminal.result(changed, () => describe(client.terminal, changed, formatBytes))
}

async function move(client: Client, asset: string, { game, out }: { game?: string; out?: true }): Promise<void> {
  const { api, origin } = await studio(client)
  if (game === undefined && !out) {
    const { usageError } = await import('../../clients/cli/errors.ts')
    throw usageError('Say where to: --game GAME, or --out.')
  }
  const changed = await api.patch<Asset>(pathOf(asset), { gameId: game ?? null }, { origin })
  client.terminal.result(changed, () =>
    out ? `${changed.title} is in no game now.` : `${changed.title} is in the game ${game} now.`,
  )
}

async function change(client: Client, asset: string, what: 'publish' | 'unpublish' | 'delete'): Promise<void> {
  const { api, origin } = await studio(client)
  const { terminal } = client
  if (what === 'delete') {
    await api.delete(pathOf(asset), { origin })
    return terminal.result({ deleted: asset }, () => `Deleted ${asset}.`)
  }
  const changed = await api.post<Asset>(pathOf(asset, `/${what}`), undefined, { origin, repeatable: true })
  terminal.result(changed, () => `${changed.title} is ${changed.visibility} now.`)
}
