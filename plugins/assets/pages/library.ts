import type { TagCount } from '../../../core/data/tag-counts.ts'
import {
  Button,
  EmptyState,
  GameCard,
  Grid,
  html,
  PageHeader,
  Pagination,
  Search,
  type View,
} from '../../../core/pages/index.ts'
import { type AssetRecord, pathOf } from '../record.ts'
import { KINDS } from '../schemas.ts'

export interface LibraryProps {
  title: string
  /** The path of the list itself. */
  path: string
  assets: AssetRecord[]
  nextCursor: string | null
  tags: TagCount[]
  /** The licenses of these assets, each as a `tag`. */
  licenses: TagCount[]
  query: { q?: string; kind?: string; tag?: string; license?: string; rigged?: boolean; cursor?: string }
}

const WORDS: Record<string, string> = {
  model: 'Models',
  pack: 'Packs',
  image: 'Pictures',
  audio: 'Sounds',
  animation: 'Clips',
}

/** Renders the library with search and filters. */
export function library({ title, path, assets, nextCursor, tags, licenses, query }: LibraryProps): View {
  const { q, kind, tag, license, rigged, cursor } = query
  const address = (changes: Record<string, string | undefined>) => {
    const asked = { q, kind, tag, license, rigged: rigged ? 'true' : undefined, ...changes }
    const entries = Object.entries(asked).filter((entry): entry is [string, string] => Boolean(entry[1]))
    return `${path}${entries.length > 0 ? `?${new URLSearchParams(entries)}` : ''}`
  }
  const link = (label: string, href: string, current: boolean) =>
    html`<li><a href=${href} aria-current=${current ? 'true' : undefined}>${label}</a></li>`
  const counted = (label: string, any: string, name: string, counts: TagCount[], chosen: string | undefined) => {
    const isRare = chosen !== undefined && !counts.some(({ tag }) => tag === chosen)
    return html`<nav aria-label=${label}><ul class="tags">
      ${link(any, address({ [name]: undefined }), !chosen)}
      ${isRare && link(chosen, address({}), true)}
      ${counts.map(({ tag, count }) => html`<li><a href=${address({ [name]: tag })} aria-current=${tag === chosen ? 'true' : undefined}>${tag}<span>${count}</span></a></li>`)}
    </ul></nav>`
  }
  const narrowed = Boolean(q || kind || tag || license || rigged)
  return html`
    <${PageHeader} title=${title} lede=${path === '/assets' ? 'Models, packs, pictures and sounds that any game may link to.' : undefined}
      actions=${(assets.length > 0 || narrowed || cursor) && html`<${Button} kind="act" href="/assets/new">Upload<//>`} />
    <div class="browse">
      <div class="browse-line">
        <${Search} action=${path} label="Search assets" value=${q} />
        <nav aria-label="Kind"><ul class="tags">
          ${link('Everything', address({ kind: undefined, rigged: undefined }), !kind && !rigged)}
          ${KINDS.map((each) => link(WORDS[each] as string, address({ kind: each, rigged: undefined }), kind === each))}
          ${link('Rigged', address({ kind: undefined, rigged: 'true' }), rigged === true)}
        </ul></nav>
      </div>
      ${tags.length > 0 && counted('Tags', 'Any tag', 'tag', tags, tag)}
      ${licenses.length > 0 && counted('Licenses', 'Any license', 'license', licenses, license)}
    </div>
    ${
      assets.length > 0
        ? html`<${Grid}>${assets.map((asset) => assetCard(asset))}<//>`
        : html`<${EmptyState} title=${narrowed ? 'Nothing matches' : 'No assets yet'} action=${narrowed ? undefined : { href: '/assets/new', label: 'Upload the first' }}>
            <p>${narrowed ? html`Try the beginning of a word of its title, or <a href=${path}>see everything</a>.` : html`A model (<code>.glb</code>, <code>.gltf</code>, <code>.vrm</code>), a picture, a sound, or a ZIP archive of such.`}</p>
          <//>`
    }
    <${Pagination} label="Assets" next=${nextCursor && address({ cursor: nextCursor })} first=${cursor && address({})} />`
}

/** A card that links to an asset. @param owner the name of its owner, in a list of several owners */
export const assetCard = (asset: AssetRecord, owner?: string): View => {
  const words = [asset.kind, asset.rigged && 'rigged', asset.license, asset.visibility === 'private' && 'private']
  const game = { id: asset.id, title: asset.title, coverUrl: `${pathOf(asset)}/thumbnail` }
  return html`<${GameCard} game=${game} href=${pathOf(asset)} by=${owner && `by ${owner}`} meta=${words.filter(Boolean).join(' · ')} />`
}
