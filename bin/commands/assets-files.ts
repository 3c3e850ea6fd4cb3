import { type Command, Option } from 'commander'
import { type Asset, describe, pathOf } from '../../clients/cli/assets.ts'
import { type Client, type ClientOptions, collect, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'
import { type Studio, studio } from '../studio.ts'

const PRESETS = ['idle', 'walk', 'run', 'jump', 'wave', 'dance', 'sit', 'death']

interface UploadOptions extends ClientOptions {
  title?: string
  description?: string
  visibility?: string
  public?: true
  private?: true
  license?: string
  author?: string
  tag?: string[]
  lod?: string
  repair?: true
  game?: string
}

/** Configures `gameyard assets upload`, `download` and `animate`: what sends and receives files. */
export function configureFiles(assets: Command, installation: Installation): void {
  const run = (options: ClientOptions, work: (client: Client) => Promise<void>) =>
    runClient(options, installation, work)

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
    .option('--author <name>', 'who made it, if not you')
    .option('--tag <tag>', 'letters, digits and hyphens; once for each', collect)
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
}

async function upload(client: Client, file: string, options: UploadOptions): Promise<void> {
  const { terminal, env } = client
  const [{ fileToSend, sendFile }, { formatBytes }] = await Promise.all([
    import('../../clients/cli/send-file.ts'),
    import('../../clients/cli/terminal.ts'),
  ])
  const sent = await fileToSend(file, 'A pack is uploaded as a ZIP archive.')
  const { api, origin } = await studio(client)
  const { title, description, license, author, tag, lod, repair, game } = options
  const fields = {
    title: title ?? sent.name.replace(/\.[^.]+$/, ''),
    description,
    visibility: options.public ? 'public' : options.private ? 'private' : options.visibility,
    license,
    author,
    tags: tag?.join(','),
    lod,
    repair: repair && 'true',
    gameId: game,
  }
  const asset = await sendFile<Asset>({ api, terminal, env }, sent, { path: '/api/assets', origin, fields })
  terminal.result(asset, () => [describe(terminal, asset, formatBytes), ...(asset.repairs ?? [])].join('\n'))
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
