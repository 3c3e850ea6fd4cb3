import type { SqlEntityManager } from '@mikro-orm/sql'
import { termOfTag, termsOfText } from '../../core/data/search-terms.ts'
import { AssetTerm } from './entities.ts'

/** Stores the search terms of an asset: the prefixes of the words of its title, and its tags. */
export async function indexAsset(
  em: SqlEntityManager,
  asset: { id: string; title: string; tags: readonly string[] },
): Promise<void> {
  const rows = [
    ...asset.tags.map((tag) => ({ term: termOfTag(tag), assetId: asset.id, isTag: true })),
    ...termsOfText(asset.title).map((term) => ({ term, assetId: asset.id, isTag: false })),
  ]
  await em.nativeDelete(AssetTerm, { assetId: asset.id })
  if (rows.length > 0) await em.insertMany(AssetTerm, rows)
}
