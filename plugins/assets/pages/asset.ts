import type { FastifyInstance } from 'fastify'
import {
  Button,
  Chip,
  CodeBlock,
  type Content,
  CopyValue,
  DescriptionList,
  Form,
  formatBytes,
  html,
  OptimisticToggle,
  PageHeader,
  Row,
  Section,
  Split,
  Stack,
  Table,
  ThingLinks,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { type Applied, PRESET_NAMES } from '../clips.ts'
import { clipPath, packFileUrl } from '../manifest.ts'
import { type AssetRecord, gameExtension, pathOf } from '../record.ts'
import type { LodReason } from '../schemas.ts'
import { modelStage } from './stage.ts'
import { suspensionOf } from './suspension.ts'

/** The maximum number of rows in a table of files. */
const LISTED = 200

const number = new Intl.NumberFormat('en')

export interface AssetPageProps {
  asset: AssetRecord
  /** The applied clips of other assets. */
  applied: readonly Applied[]
  /** Null when the account was deleted. */
  ownerName: string | null
  /** Whether the viewer is its owner. */
  owned: boolean
  /** Whether the viewer may change it. */
  made: boolean
  /** Its game, for those who may change it. */
  game: { title: string; href: string } | null
  isAdmin: boolean
  /** Whether the viewer may suspend it. */
  moderates: boolean
}

/** Renders one asset with viewer and links and, for its owner, the controls. */
export function assetPage(
  app: Pick<FastifyInstance, 'browserFiles' | 'origins' | 'site'>,
  { asset, applied, ownerName, owned, made, game, isAdmin, moderates }: AssetPageProps,
): View {
  const path = pathOf(asset)
  const { source, lod } = asset.variants
  const isModel = asset.kind === 'model' || asset.kind === 'animation'
  const chips = html`
    ${visibility(asset, (shown) => shown.visibility === 'private' && html`<${Chip} tone="warn">private<//>`)}
    ${curated(asset, (shown) => shown.curated && html`<${Chip} tone="success">curated<//>`)}
    ${asset.suspended && html`<${Chip} tone="error">suspended<//>`}
    ${asset.rigged && html`<${Chip}>rigged<//>`}`
  const extension = gameExtension(asset)
  const rows = [
    { name: 'As uploaded', variant: 'source', ...source },
    ...(lod ? [{ name: 'Lighter', variant: 'lod', ...lod }] : []),
  ]
  const facts = [
    { term: 'Kind', detail: asset.kind },
    ...(asset.author === null ? [] : [{ term: 'Author', detail: asset.author }]),
    { term: asset.author === null ? 'By' : 'Uploaded by', detail: ownerName ?? 'somebody who has left' },
    ...(game ? [{ term: 'Game', detail: html`<a href=${game.href}>${game.title}</a>` }] : []),
    { term: 'License', detail: license(asset.license) },
    { term: 'Size', detail: formatBytes(source.size) },
    ...(source.triangles === null ? [] : [{ term: 'Triangles', detail: number.format(source.triangles) }]),
    ...(asset.kind === 'pack' ? [{ term: 'Files', detail: number.format(asset.files.length) }] : []),
    ...(asset.tags.length > 0 ? [{ term: 'Tags', detail: tagLinks(asset.tags) }] : []),
    { term: 'Added', detail: html`<${Timestamp} at=${asset.createdAt} />` },
  ]
  const aside = html`<${Stack}>
    <${DescriptionList} items=${facts} />
    ${isAdmin && curated(asset, curation)}
    ${moderates && html`<${Button} small href=${`/admin/assets/${asset.slug}/suspend`}>Suspend<//>`}
    ${!made && html`<${ThingLinks} site=${app.site} kind="asset" id=${asset.slug} />`}
  <//>`
  return html`
    <${PageHeader} title=${asset.title} crumbs=${[{ label: 'Assets', href: '/assets' }]} chips=${chips}
      lede=${asset.description || undefined} actions=${html`${made && makerActions(asset, game !== null)}<${Button} kind="act" href=${`${path}/file?variant=source`}>Download<//>`} />
    <${Split} aside=${aside}>
      ${made && suspensionOf(asset, owned)}
      ${!asset.suspended && stage(app, asset, isModel)}
      ${isModel && clips(asset, applied)}
      <${Section} title="Use it in a game">
        ${made ? visibility(asset, (shown) => html`<p>${use(shown)}</p>`) : html`<p>${use(asset)}</p>`}
        <${DescriptionList} items=${[
          ...(extension === null
            ? []
            : [
                {
                  term: 'At every game',
                  detail: html`<${CopyValue} label="Address at games" value=${`/__service/assets/${asset.slug}.${extension}`} />`,
                },
              ]),
          { term: 'At other pages', detail: html`<${CopyValue} label="Hot-link" value=${asset.fileUrl} />` },
          ...(asset.attribution === null
            ? []
            : [{ term: 'In your credits', detail: html`<${CopyValue} label="Credit" value=${asset.attribution} />` }]),
          { term: 'Id', detail: html`<${CopyValue} label="Id" value=${asset.id} />` },
        ]} />
        ${isModel && html`<${CodeBlock} title="three.js" code=${snippet(asset)} />`}
        ${asset.kind === 'animation' && html`<${CodeBlock} title="On a rigged model of yours" code=${applySnippet(asset)} />`}
        ${asset.kind === 'pack' && asset.files[0] && html`<${CodeBlock} title="One file of it" code=${fileSnippet(asset, asset.files[0].path)} />`}
      <//>
      ${
        asset.kind === 'pack'
          ? html`<${Section} title="Files" description=${asset.files.length > LISTED ? `The first ${LISTED} of ${number.format(asset.files.length)}; the manifest has all.` : undefined}><${Table} caption=${`Files of ${asset.title}`} columns=${filesOf(path)} rows=${asset.files.slice(0, LISTED)} /><//>`
          : isModel &&
            html`<${Section} title="Variants" description=${variantsSaid(asset)}>${lod && comparison(path, rows)}<${Table} caption="Variants" columns=${variantsOf(path)} rows=${rows} /><//>`
      }
    <//>`
}

const stage = (app: Pick<FastifyInstance, 'browserFiles'>, asset: AssetRecord, isModel: boolean): View => {
  const path = pathOf(asset)
  const picture = html`<img src=${`${path}/thumbnail`} alt=${`Picture of ${asset.title}`} width="512" height="384" />`
  if (asset.kind === 'audio')
    return html`<audio class="sound" src=${`${path}/file`} controls preload="metadata" aria-label=${asset.title}></audio>`
  if (asset.kind === 'image') return html`<div class="stage"><img src=${`${path}/file`} alt=${asset.title} /></div>`
  if (!isModel) return html`<div class="stage">${picture}</div>`
  return modelStage(app, { src: `${path}/file`, alt: `3D model: ${asset.title}`, picture })
}

/** How an asset is used, and what never changes. */
const use = ({ visibility }: AssetRecord): string =>
  visibility === 'public'
    ? 'Any page may load it. Its address and its file never change: another version is another asset.'
    : 'Publish it, so that games can load it: players get 404 from a private asset, also in a game to which it belongs.'

/** Buttons that show another variant of the model in the viewer. The table below also links to each file. */
const clips = (asset: AssetRecord, applied: readonly Applied[]): View | null => {
  if (!asset.humanoid && asset.animations.length === 0 && applied.length === 0) return null
  const path = pathOf(asset)
  const button = (label: string, address: string) =>
    html`<button class="button small" type="button" hidden data-show=${`${path}${address}`}>${label}</button>`
  return html`<${Section} title="Movement" description=${asset.animations.length > 0 ? `Its own clips: ${asset.animations.join(', ')}.` : 'Clips that fit any humanoid rig.'}>
    <${Row}>
      ${button('As it is', '/file')}
      ${asset.humanoid && PRESET_NAMES.map((preset) => button(preset, clipPath(preset)))}
      ${applied.map(({ clip, from }) => button(clip, clipPath(clip, from)))}
    <//>
  <//>`
}

const makerActions = (asset: AssetRecord, inGame: boolean): View => html`
  <${Button} href=${`${pathOf(asset)}/edit`}>Edit<//>
  ${visibility(asset, (shown) => {
    const verb = shown.visibility === 'public' ? 'unpublish' : 'publish'
    const said =
      verb === 'publish'
        ? 'It is public: anybody may load it.'
        : `It is private: only ${inGame ? 'its owner and the makers of its game' : 'you'} may load it.`
    return html`<${Form} action=${`${pathOf(asset)}/${verb}`} optimistic="visibility" said=${said}><${Button}>${verb === 'publish' ? 'Publish' : 'Make private'}<//><//>`
  })}`

/** An element that changes when the asset is published or made private. */
const visibility = (asset: AssetRecord, show: (asset: AssetRecord) => Content): View => html`
  <${OptimisticToggle} name="visibility" then=${show({ ...asset, visibility: asset.visibility === 'public' ? 'private' : 'public' })}>${show(asset)}<//>`

/** An element that changes when the asset becomes curated or is released. */
const curated = (asset: AssetRecord, show: (asset: AssetRecord) => Content): View => html`
  <${OptimisticToggle} name="curated" then=${show({ ...asset, curated: !asset.curated })}>${show(asset)}<//>`

/** Each SPDX identifier has a page; a compound expression has none. */
const license = (id: string | null): Content =>
  id === null
    ? 'none given'
    : /^[A-Za-z0-9.+-]+$/.test(id)
      ? html`<a href=${`https://spdx.org/licenses/${encodeURIComponent(id)}.html`} rel="noreferrer">${id}</a>`
      : id

const tagLinks = (tags: readonly string[]): Content =>
  tags.map((tag, index) => html`${index > 0 && ', '}<a href=${`/assets?tag=${encodeURIComponent(tag)}`}>${tag}</a>`)

const curation = (asset: AssetRecord): View => {
  const verb = asset.curated ? 'release' : 'curate'
  return html`<${Form} action=${`/admin${pathOf(asset)}/${verb}`} optimistic="curated"><${Button}>${asset.curated ? 'Release from the curated' : 'Mark as curated'}<//><//>`
}

const variantsOf = (path: string) => [
  {
    label: 'Variant',
    cell: (row: VariantRow) => html`<a href=${`${path}/file?variant=${row.variant}`}>${row.name}</a>`,
  },
  {
    label: 'Show',
    action: true,
    cell: (row: VariantRow) =>
      html`<button class="button small" type="button" hidden data-show=${`${path}/file?variant=${row.variant}`} aria-label=${`Show ${row.name.toLowerCase()}`}>Show</button>`,
  },
  { label: 'Size', align: 'end' as const, cell: (row: VariantRow) => formatBytes(row.size) },
  {
    label: 'Triangles',
    align: 'end' as const,
    cell: (row: VariantRow) => (row.triangles === null ? '–' : number.format(row.triangles)),
  },
]
/** A button that shows both versions with a slider between them. */
const comparison = (path: string, rows: readonly VariantRow[]): View => {
  const names = rows.map(({ name, size }) => `${name} (${formatBytes(size)})`)
  return html`<${Row}><button class="button small" type="button" hidden data-show=${`${path}/file?variant=source`}
    data-with=${`${path}/file?variant=lod`} data-names=${JSON.stringify(names)}>Compare both with a slider</button><//>`
}

interface VariantRow {
  name: string
  variant: string
  size: number
  triangles: number | null
}

const variantsSaid = ({ lodReason, lod, defaultVariant }: AssetRecord): string =>
  lodReason === null
    ? lod === 'off'
      ? 'The default address serves the model as uploaded.'
      : `The default address serves ${defaultVariant === 'lod' ? 'the lighter version' : 'the model as uploaded'}. It is the lighter version for models of more than 1 MiB.`
    : `There is no lighter version: ${LOD_REASONS[lodReason]}.`

const LOD_REASONS: Record<LodReason, string> = {
  few_triangles: 'it has few triangles already',
  shape_would_change: 'its look would change',
  not_smaller: 'it would not be clearly smaller',
  unknown_extension: 'it has a glTF extension whose data could get lost',
  too_slow: 'it takes too much time or memory to make',
  failed: 'this platform failed to make one',
  unreadable: 'this model can’t be processed',
}

const filesOf = (path: string) => [
  {
    label: 'File',
    cell: (file: AssetRecord['files'][number]) =>
      html`<a href=${`${path}/file?path=${encodeURIComponent(file.path)}`}>${file.path}</a>`,
  },
  { label: 'Size', align: 'end' as const, cell: (file: AssetRecord['files'][number]) => formatBytes(file.size) },
]

const fileSnippet = (asset: AssetRecord, path: string): string =>
  `const answer = await fetch('${packFileUrl(asset, path).replaceAll("'", '%27')}')`

const applySnippet = ({ slug, animations: [clip = ''] }: AssetRecord): string =>
  `gameyard assets animate YOUR-MODEL --from ${slug} --clip ${/^[\w.-]+$/.test(clip) ? clip : `'${clip.replaceAll("'", "'\\''")}'`}`

const snippet = (asset: AssetRecord): string => `import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js'

const { scene } = await new GLTFLoader().loadAsync('${asset.fileUrl}')`
