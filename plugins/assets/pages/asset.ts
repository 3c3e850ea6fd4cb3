import type { FastifyInstance } from 'fastify'
import {
  Button,
  Chip,
  CodeBlock,
  Confirm,
  CopyValue,
  Facts,
  Form,
  html,
  PageHeader,
  Row,
  Section,
  Split,
  Stack,
  Table,
  type View,
} from '../../../core/pages.ts'
import { PRESET_NAMES } from '../clips.ts'
import { type AssetRecord, pathOf } from '../record.ts'
import { modelStage } from './stage.ts'

const number = new Intl.NumberFormat('en')

/** Bytes as people say them. */
const sizeOf = (bytes: number): string =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 ** 2
      ? `${Math.round(bytes / 1024)} KiB`
      : `${(bytes / 1024 ** 2).toFixed(1)} MiB`

export interface AssetPageProps {
  asset: AssetRecord
  owned: boolean
  isAdmin: boolean
}

/** One asset: to look at, to move, to link to; and, for its owner, to look after. */
export function assetPage(app: Pick<FastifyInstance, 'browserFiles'>, { asset, owned, isAdmin }: AssetPageProps): View {
  const path = pathOf(asset)
  const { source, lod } = asset.variants
  const isModel = asset.kind === 'model' || asset.kind === 'animation'
  const chips = html`
    ${asset.visibility === 'private' && html`<${Chip} tone="warn">private<//>`}
    ${asset.curated && html`<${Chip} tone="success">curated<//>`}
    ${asset.rigged && html`<${Chip}>rigged<//>`}`
  const rows = [
    { name: 'As uploaded', variant: 'source', ...source },
    ...(lod ? [{ name: 'Lighter', variant: 'lod', ...lod }] : []),
  ]
  const facts = [
    { term: 'Kind', detail: asset.kind },
    { term: 'License', detail: asset.license ?? 'none given' },
    { term: 'Id', detail: html`<code>${asset.id}</code>` },
    ...(asset.tags.length > 0 ? [{ term: 'Tags', detail: asset.tags.join(', ') }] : []),
  ]
  const aside = html`<${Stack}>
    <${Facts} items=${facts} />
    ${owned && ownerActions(asset)}
    ${isAdmin && curation(asset)}
  <//>`
  return html`
    <${PageHeader} title=${asset.title} crumbs=${[{ label: 'Assets', href: '/assets' }]} chips=${chips}
      lede=${asset.description || undefined} actions=${html`<${Button} kind="act" href=${`${path}/file?variant=source`}>Download<//>`} />
    <${Split} aside=${aside}>
      ${stage(app, asset, isModel)}
      ${isModel && clips(asset)}
      <${Section} title="Use it in a game" description="The address stays the same; any page may load it.">
        <${CopyValue} label="Hot-link" value=${asset.fileUrl} />
        ${isModel && html`<${CodeBlock} title="three.js" code=${snippet(asset)} />`}
      <//>
      ${
        asset.kind === 'pack'
          ? html`<${Section} title="Files"><${Table} caption=${`Files of ${asset.title}`} columns=${filesOf(path)} rows=${asset.files.slice(0, 200)} /><//>`
          : html`<${Section} title="Variants"><${Table} caption="Variants" columns=${variantsOf(path)} rows=${rows} /><//>`
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

/** Buttons that show another form of the model in the viewer; each file is also a link in the table below. */
const clips = (asset: AssetRecord): View | null => {
  if (!asset.rigged && asset.animations.length === 0) return null
  const path = pathOf(asset)
  return html`<${Section} title="Movement" description=${asset.animations.length > 0 ? `Its own clips: ${asset.animations.join(', ')}.` : 'Clips that fit any humanoid rig.'}>
    <${Row}>
      <button class="button small" type="button" hidden data-show=${`${path}/file`}>As it is</button>
      ${asset.rigged && PRESET_NAMES.map((preset) => html`<button class="button small" type="button" hidden data-show=${`${path}/animation/${preset}`}>${preset}</button>`)}
    <//>
  <//>`
}

const ownerActions = (asset: AssetRecord): View => {
  const path = pathOf(asset)
  const verb = asset.visibility === 'public' ? 'unpublish' : 'publish'
  return html`
    <${Form} action=${`${path}/${verb}`}><${Button}>${verb === 'publish' ? 'Publish' : 'Make private'}<//><//>
    <${Confirm} label="Delete" action=${`${path}/delete`}><p>Games that link to it lose it at once, and it can't be brought back.</p><//>`
}

const curation = (asset: AssetRecord): View => {
  const verb = asset.curated ? 'release' : 'curate'
  return html`<${Form} action=${`/admin${pathOf(asset)}/${verb}`}><${Button}>${asset.curated ? 'Release from the curated' : 'Mark as curated'}<//><//>`
}

const variantsOf = (path: string) => [
  {
    label: 'Variant',
    cell: (row: VariantRow) => html`<a href=${`${path}/file?variant=${row.variant}`}>${row.name}</a>`,
  },
  { label: 'Size', align: 'end' as const, cell: (row: VariantRow) => sizeOf(row.size) },
  {
    label: 'Triangles',
    align: 'end' as const,
    cell: (row: VariantRow) => (row.triangles === null ? '–' : number.format(row.triangles)),
  },
]
interface VariantRow {
  name: string
  variant: string
  size: number
  triangles: number | null
}

const filesOf = (path: string) => [
  {
    label: 'File',
    cell: (file: AssetRecord['files'][number]) =>
      html`<a href=${`${path}/file?path=${encodeURIComponent(file.path)}`}>${file.path}</a>`,
  },
  { label: 'Size', align: 'end' as const, cell: (file: AssetRecord['files'][number]) => sizeOf(file.size) },
]

const snippet = (asset: AssetRecord): string => `import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js'

const { scene } = await new GLTFLoader().loadAsync('${asset.fileUrl}')`
