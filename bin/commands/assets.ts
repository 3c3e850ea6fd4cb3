import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import type { Terminal } from '../../clients/cli/terminal.ts'
import { type Client, type ClientOptions, collect, positive, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'
import { type Studio, studio } from '../studio.ts'

const KINDS = ['model', 'pack', 'image', 'audio', 'animation']
const PRESETS = ['idle', 'walk', 'run', 'jump', 'wave', 'dance', 'sit', 'death']

/** The fields of an asset that the command line shows. */
interface Asset {
  id: string
  slug: string
  title: string
  kind: string
  visibility: string
  gameId: string | null
  license: string | null
  tags: string[]
  files: { path: string; size: number }[]
  variants: { source: { size: number; triangles: number | null }; lod?: { size: number; triangles: number | null } }
  lodReason: string | null
  defaultVariant: 'source' | 'lod'
  rigged: boolean
  animations: string[]
  /** In the answer of an upload with `--repair`. */
  repairs?: string[]
}

/** Explains why a model has no lighter form. */
const LOD_REASONS: Record<string, string> = {
  few_triangles: 'none: it has few triangles already',
  shape_would_change: 'none: its look would change',
  not_smaller: 'none: it would not be clearly smaller',
  unknown_extension: 'none: it has a glTF extension whose data could get lost',
  too_slow: 'none: it takes too much time or memory to make',
  failed: 'none: the platform failed to make one',
  unreadable: 'none: this model can’t be processed',
}

interface UploadOptions extends ClientOptions {
  title?: string
  description?: string
  visibility?: string
  public?: true
  private?: true
  license?: string
  tag?: string[]
  lod?: string
  repair?: true
  game?: string
}

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
    .addOption(new Option('--limit <number>', 'at most so many').argParser(positive).default(100))
    .action((options) => run(options, (client) => list(client, options)))

  withClientOptions(assets.command('get'))
    .summary('show an asset')
    .argument('<asset>', 'slug or id')
    .option('--manifest', 'show its manifest: every file with its address')
    .action((asset, options) => run(options, (client) => show(client, asset, options)))

  withClientOptions(assets.command('upload'))
    .summary('upload a file')
    .description('Uploads a model (GLB, glTF, VRM), a pack (ZIP), a picture or a sound. The platform validates models.')
    .argument('<file>', 'what to upload')
    .option('--title <text>', 'its name (default: that of the file)')
    .option('--description <text>', 'what it is')
    .addOption(new Option('--visibility <who>', 'who sees it (default: private)').choices(['public', 'private']))
    .addOption(new Option('--public', 'the same as --visibility public').conflicts(['visibility', 'private']))
    .addOption(new Option('--private', 'the same as --visibility private').conflicts(['visibility', 'public']))
    .option('--license <spdx>', 'such as CC0-1.0 or CC-BY-4.0')
    .option('--tag <tag>', 'a-z, 0-9 and hyphens; once for each', collect)
    .addOption(new Option('--lod <choice>', 'off: always serve the file as it is').choices(['auto', 'off']))
    .option('--repair', 'repair small faults of models; the answer says what was done')
    .option('--game <game>', 'a game that you make, whose makers may see and change it; slug or id')
    .action((file, options) => run(options, (client) => upload(client, file, options)))

  withClientOptions(assets.command('download'))
    .summary('download an asset')
    .description('Downloads the file of an asset. A pack comes as a ZIP, or one file of it with --path.')
    .argument('<asset>', 'slug or id')
    .addOption(new Option('--variant <variant>', 'which form').choices(['auto', 'source', 'lod']).default('source'))
    .option('--path <file>', 'one file of a pack')
    .option('-o, --output <file>', 'where to; a folder, or - for standard output')
    .action((asset, options) => run(options, (client) => download(client, asset, options)))

  withClientOptions(assets.command('animate'))
    .summary('give a rigged model a clip')
    .description(
      'Makes an animated copy of a rigged model, and downloads it as GLB: a humanoid with one of the presets, or any model with a clip of another asset, such as a library of clips. That one stays with the model until --remove takes it off.',
    )
    .argument('<asset>', 'slug or id')
    .argument('[preset]', PRESETS.join(', '))
    .option('--from <asset>', 'the asset whose clip it is')
    .option('--clip <name>', 'the name of the clip there')
    .option('--remove', 'take that clip off the model')
    .option('-o, --output <file>', 'where to; a folder, or - for standard output')
    .action((asset, preset, options) => run(options, (client) => animate(client, asset, { ...options, preset })))

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

const pathOf = (asset: string, rest = ''): string => `/api/assets/${encodeURIComponent(asset)}${rest}`

async function list(
  client: Client,
  options: { mine?: true; game?: string; search?: string; kind?: string; tag?: string; limit: number },
): Promise<void> {
  const { terminal } = client
  const [{ api, origin }, { formatBytes, truncate }] = await Promise.all([
    studio(client),
    import('../../clients/cli/terminal.ts'),
  ])
  const { search: q, kind, tag, game: gameId, mine } = options
  const query = { q, kind, tag, gameId, owner: mine ? 'me' : undefined }
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

function describe(terminal: Terminal, asset: Asset, formatBytes: (bytes: number) => string): string {
  const { source, lod } = asset.variants
  const shape = ({ size, triangles }: { size: number; triangles: number | null }) =>
    `${formatBytes(size)}${triangles === null ? '' : `, ${triangles} triangles`}`
  const facts: [string, string][] = [
    ['Id', asset.id],
    ['Slug', asset.slug],
    ['Kind', `${asset.kind}${asset.rigged ? ', rigged' : ''}, ${asset.visibility}`],
    ...(asset.gameId ? ([['Game', asset.gameId]] as [string, string][]) : []),
    ['License', asset.license ?? 'not said'],
    ['Source', shape(source)],
    ...(lod ? ([['LOD', shape(lod)]] as [string, string][]) : []),
    ...(asset.lodReason ? ([['LOD', LOD_REASONS[asset.lodReason] ?? 'none']] as [string, string][]) : []),
    ...(lod ? ([['Default', asset.defaultVariant]] as [string, string][]) : []),
    ['Tags', asset.tags.join(', ') || 'none'],
    ['Clips', asset.animations.join(', ') || 'none'],
  ]
  return [
    terminal.style('bold', asset.title),
    ...facts.map(([name, value]) => `  ${terminal.style('dim', name.padEnd(8))} ${value}`),
  ].join('\n')
}

async function upload(client: Client, file: string, options: UploadOptions): Promise<void> {
  const { terminal, env } = client
  const [{ multipart }, { ProgressBar }, { fileReason, usageError }, { formatBytes }] = await Promise.all([
    import('../../clients/cli/multipart.ts'),
    import('../../clients/cli/progress.ts'),
    import('../../clients/cli/errors.ts'),
    import('../../clients/cli/terminal.ts'),
  ])
  const found = await stat(file).catch((error) => {
    throw usageError(`${file} can't be uploaded: ${fileReason(error)}.`)
  })
  if (!found.isFile()) throw usageError(`${file} is no file; a pack is uploaded as a ZIP.`)
  const { api, origin } = await studio(client)
  const { title, description, license, tag, lod, repair, game } = options
  const name = basename(file)
  const fields = {
    title: title ?? name.replace(/\.[^.]+$/, ''),
    description,
    visibility: options.public ? 'public' : options.private ? 'private' : options.visibility,
    license,
    tags: tag?.join(','),
    lod,
    repair: repair && 'true',
    gameId: game,
  }
  const bar = new ProgressBar(terminal, env)
  const form = multipart(fields, { field: 'file', file, name, size: found.size }, (bytes) => bar.advance(bytes))
  bar.start('Uploading', found.size)
  try {
    const asset = await api.post<Asset>('/api/assets', form.body, {
      origin,
      headers: { 'content-type': form.contentType },
      idleMs: 300_000,
    })
    bar.clear()
    terminal.result(asset, () => [describe(terminal, asset, formatBytes), ...(asset.repairs ?? [])].join('\n'))
  } finally {
    bar.clear()
  }
}

async function download(
  client: Client,
  asset: string,
  { variant, path, output }: { variant: string; path?: string; output?: string },
): Promise<void> {
  const { api, origin } = await studio(client)
  const found = await api.get<Asset>(pathOf(asset), { origin })
  const query = { variant: path === undefined ? variant : undefined, path }
  await fetchFile(client, { api, origin }, pathOf(found.id, '/file'), {
    query,
    output,
    name: (type) => path ?? `${found.slug}${extensionOf(type, found)}`,
  })
}

interface AnimateOptions {
  preset?: string | undefined
  from?: string
  clip?: string
  remove?: true
  output?: string
}

async function animate(client: Client, asset: string, options: AnimateOptions): Promise<void> {
  const choice = await clipOf(options)
  const place = await studio(client)
  const { api, origin } = place
  const found = await api.get<Asset>(pathOf(asset), { origin })
  const query = 'from' in choice ? { from: choice.from } : {}
  if ('from' in choice && options.remove) {
    await api.delete(pathOf(found.id, '/animations'), { origin, query: { ...choice } })
    return client.terminal.result({ removed: choice }, () => `${choice.clip} is off ${found.title}.`)
  }
  await api.post(pathOf(found.id, '/animations'), choice, { origin, repeatable: true, idleMs: 120_000 })
  const name = 'from' in choice ? choice.clip : choice.preset
  await fetchFile(client, place, pathOf(found.id, `/animation/${encodeURIComponent(name)}`), {
    query,
    output: options.output,
    name: () => `${found.slug}-${name.replace(/[^\p{L}\p{N}._-]+/gu, '-')}.glb`,
  })
}

/** Returns the requested animation. @throws UsageError */
async function clipOf({
  preset,
  from,
  clip,
  remove,
}: AnimateOptions): Promise<{ preset: string } | { from: string; clip: string }> {
  if (from !== undefined && clip !== undefined && preset === undefined) return { from, clip }
  const [{ usageError }, { closest }] = await Promise.all([
    import('../../clients/cli/errors.ts'),
    import('../../clients/cli/games.ts'),
  ])
  const choices = `There are: ${PRESETS.join(', ')}.`
  if (from !== undefined || clip !== undefined || remove || preset === undefined) {
    throw usageError('Say which clip: a preset, or --from ASSET --clip NAME.', choices)
  }
  if (PRESETS.includes(preset)) return { preset }
  const near = await closest(preset, PRESETS)
  throw usageError(`There is no clip ${preset}.`, near ? `Did you mean ${near}?` : choices)
}

async function fetchFile(
  client: Client,
  { api, origin }: Studio,
  path: string,
  {
    query,
    output,
    name,
  }: { query: Record<string, string | undefined>; output: string | undefined; name: (type: string) => string },
): Promise<void> {
  const { terminal, env } = client
  const [{ save }, { ProgressBar }, { formatBytes }] = await Promise.all([
    import('../../clients/cli/download.ts'),
    import('../../clients/cli/progress.ts'),
    import('../../clients/cli/terminal.ts'),
  ])
  const answer = await api.ask('GET', path, { origin, query, idleMs: 120_000 })
  const bar = new ProgressBar(terminal, env)
  bar.start('Loading', Number(answer.headers['content-length'] ?? 0))
  const type = String(answer.headers['content-type'] ?? '')
  const saved = await save(answer, { to: output, name: name(type), advance: (bytes) => bar.advance(bytes) }).finally(
    () => bar.clear(),
  )
  if (saved.file === '-') return
  const served = answer.headers['x-service-variant']
  terminal.result({ ...saved, variant: served ?? null }, () => {
    const instead = query.variant === 'lod' && served === 'source' ? '; it has no LOD, so this is the source' : ''
    return `Saved ${saved.file} (${formatBytes(saved.bytes)}${instead})`
  })
}

const EXTENSIONS: [RegExp, string][] = [
  [/gltf-binary/, '.glb'],
  [/zip/, '.zip'],
  [/png/, '.png'],
  [/jpeg/, '.jpg'],
  [/webp/, '.webp'],
  [/gif/, '.gif'],
  [/mpeg/, '.mp3'],
  [/ogg/, '.ogg'],
  [/wav/, '.wav'],
]

const extensionOf = (type: string, asset: Asset): string =>
  EXTENSIONS.find(([pattern]) => pattern.test(type))?.[1] ??
  /\.[A-Za-z0-9]+$/.exec(asset.files[0]?.path ?? '')?.[0] ??
  ''

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
