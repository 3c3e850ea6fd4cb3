import type { Static, TObject } from 'typebox'
import type { AssetLimits } from './schemas.ts'

/** The plugin's values of the configuration section `limits`. */
export type Limits = Static<TObject<typeof AssetLimits>>
