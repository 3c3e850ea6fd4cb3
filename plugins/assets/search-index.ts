import type { SqlEntityManager } from '@mikro-orm/sql'
import { termOfTag, termsOfText } from '../../core/data/search-terms.ts'
import { AssetLicense, AssetTerm } from './entities.ts'
import { choicesOf, nameOfChoice } from './license.ts'

/** Stores by what an asset is found: the prefixes of the words of its title, its tags, and its licenses. */
export async function indexAsset(
  em: SqlEntityManager,
  asset: { id: string; title: string; tags: readonly string[]; license?: string | null | undefined },
): Promise<void> {
  const { id: assetId, license } = asset
  const rows = [
    ...asset.tags.map((tag) => ({ term: termOfTag(tag), assetId, isTag: true })),
    ...termsOfText(asset.title).map((term) => ({ term, assetId, isTag: false })),
  ]
  const licenses = [...new Set(license ? choicesOf(license).map(nameOfChoice) : [])]
  await forgetAssets(em, [assetId])
  if (rows.length > 0) await em.insertMany(AssetTerm, rows)
  if (licenses.length > 0)
    await em.insertMany(
      AssetLicense,
      licenses.map((license) => ({ license, assetId })),
    )
}

/** Removes assets from what `indexAsset` stores. */
export async function forgetAssets(em: SqlEntityManager, assetIds: readonly string[]): Promise<void> {
  const where = { assetId: { $in: [...assetIds] } }
  await em.nativeDelete(AssetTerm, where)
  await em.nativeDelete(AssetLicense, where)
}
