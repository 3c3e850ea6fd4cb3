import { access } from 'node:fs/promises'
import { join } from 'node:path'
import Type, { type Static } from 'typebox'
import { Value } from 'typebox/value'
import type { Config } from '../../config.ts'
import { Keys } from '../keys.ts'

const Text = Type.String({ maxLength: 300 })

const SourcePlatformSchema = Type.Object({
  portal: Text,
  studio: Text,
  gamesDomain: Text,
  formerUrls: Type.Array(Text),
  formerDomains: Type.Array(Text),
  /** `Keys.check` of the source's secret; null when it had none yet. */
  keyCheck: Type.Union([Text, Type.Null()]),
})

/** The part of a backup that describes the addresses of the source platform. */
export type SourcePlatform = Static<typeof SourcePlatformSchema>

export async function describePlatform({ dataDir, secret, portal, studio, games }: Config): Promise<SourcePlatform> {
  const hasKeys = await access(join(dataDir, 'keys', 'secret')).then(
    () => true,
    () => secret !== undefined,
  )
  return {
    portal: portal.url,
    studio: studio.url,
    gamesDomain: games.domain,
    formerUrls: portal.formerUrls,
    formerDomains: games.formerDomains,
    keyCheck: hasKeys ? (await Keys.open({ dataDir, secret })).check() : null,
  }
}

/** Parses the description of the source platform; null for a backup of a version that stored none. */
export const readSourcePlatform = (about: unknown): SourcePlatform | null =>
  Value.Check(SourcePlatformSchema, about) ? about : null
