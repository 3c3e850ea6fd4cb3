import type { Terminal } from './terminal.ts'

/** The fields of an asset that the command line shows. */
export interface Asset {
  id: string
  slug: string
  title: string
  kind: string
  visibility: string
  gameId: string | null
  author: string | null
  license: string | null
  attribution: string | null
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

/** Returns the path of an asset in the API. @param asset its slug or id */
export const pathOf = (asset: string, rest = ''): string => `/api/assets/${encodeURIComponent(asset)}${rest}`

/** Describes an asset in lines for people. @param formatBytes that of `terminal.ts`, which loads on demand */
export function describe(terminal: Terminal, asset: Asset, formatBytes: (bytes: number) => string): string {
  const { source, lod } = asset.variants
  const shape = ({ size, triangles }: { size: number; triangles: number | null }) =>
    `${formatBytes(size)}${triangles === null ? '' : `, ${triangles} triangles`}`
  const facts: [string, string][] = [
    ['Id', asset.id],
    ['Slug', asset.slug],
    ['Kind', `${asset.kind}${asset.rigged ? ', rigged' : ''}, ${asset.visibility}`],
    ...(asset.gameId ? ([['Game', asset.gameId]] as [string, string][]) : []),
    ...(asset.author ? ([['Author', asset.author]] as [string, string][]) : []),
    ['License', asset.license ?? 'not said'],
    ...(asset.attribution ? ([['Credit', asset.attribution]] as [string, string][]) : []),
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
