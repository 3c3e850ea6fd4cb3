import type { SqlEntityManager } from '@mikro-orm/sql'
import { randomText } from '../../core/ids.ts'
import { slugWords } from '../../core/slug-words.ts'
import { AssetRow, FormerAssetSlug } from './entities.ts'

/** The maximum length of a base slug, because `-<number>` must also fit into 63 characters. */
const LONGEST_MADE = 50
/** The portal's paths beside the pages of assets. */
const RESERVED = new Set(['new', 'mine', 'upload'])
const NUMBERS = 20
/** The number of former slugs that are reserved for one owner, so that nobody withholds addresses without number. */
const MOST_RESERVED = 1000

/** Creates a slug from a title: words of `[a-z0-9]` joined by single hyphens, `asset` when nothing is left. */
export function slugFrom(title: string): string {
  const slug = slugWords(title)
    .slice(0, LONGEST_MADE)
    .replace(/^-+|-+$/g, '')
  if (!slug) return 'asset'
  return RESERVED.has(slug) ? `${slug}-asset` : slug
}

/**
 * Returns the first of `base`, `base-2`, `base-3`, … that no asset has or, unless it was the owner's, has had. A
 * concurrent caller may take it: the unique key then refuses the row, and the caller retries.
 */
export async function freeSlug(em: SqlEntityManager, base: string, ownerId: string): Promise<string> {
  const candidates = [base, ...Array.from({ length: NUMBERS }, (_, index) => `${base}-${index + 2}`)]
  const taken = new Set<string>()
  for (const { slug } of await em.find(AssetRow, { slug: { $in: candidates } }, { fields: ['slug'] })) taken.add(slug)
  const former = { slug: { $in: candidates }, ownerId: { $ne: ownerId } }
  for (const { slug } of await em.find(FormerAssetSlug, former, { fields: ['slug'] })) taken.add(slug)
  return candidates.find((slug) => !taken.has(slug)) ?? `${base}-${Buffer.from(randomText(6)).toString('hex')}`
}

/** Whether an owner may give an asset this slug. */
export async function isFree(em: SqlEntityManager, slug: string, ownerId: string): Promise<boolean> {
  if (RESERVED.has(slug)) return false
  if (await em.count(AssetRow, { slug })) return false
  return (await em.count(FormerAssetSlug, { slug, ownerId: { $ne: ownerId } })) === 0
}

/** Reserves the slugs of an owner's assets, so that nobody else can use them. Beyond `MOST_RESERVED` the oldest are free. */
export async function reserveSlugs(
  em: SqlEntityManager,
  ownerId: string,
  assets: readonly Pick<AssetRow, 'id' | 'slug'>[],
  now: Date,
): Promise<void> {
  if (assets.length === 0) return
  await em.upsertMany(
    FormerAssetSlug,
    assets.map(({ id, slug }) => ({ slug, assetId: id, ownerId, freedAt: now })),
  )
  await em.execute(
    `delete from former_asset_slugs where owner_id = ? and slug not in (
       select slug from former_asset_slugs where owner_id = ? order by freed_at desc nulls last, slug limit ?)`,
    [ownerId, ownerId, MOST_RESERVED],
    'run',
  )
}
