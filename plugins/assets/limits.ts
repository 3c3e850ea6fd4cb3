import type { Static, TObject } from 'typebox'
import type { AssetLimits } from './schemas.ts'

/** The numbers of `limits` that are the plugin's. */
export type Limits = Static<TObject<typeof AssetLimits>>
