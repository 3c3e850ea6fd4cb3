import type { DriverFamily } from '../../core/driver.ts'

const builtins: DriverFamily['builtins'] = {
  none: () => import('./none.ts'),
  'openai-compatible': () => import('./openai-compatible.ts'),
  openai: () => import('./openai.ts'),
  anthropic: () => import('./anthropic.ts'),
  google: () => import('./google.ts'),
}

/** The AI providers: `ai: { driver: openai-compatible, baseUrl, models: { text, object, image } }`. */
export const ai: DriverFamily = { name: 'ai', default: 'none', builtins }

/** Declares a family with the same drivers under another key. When its driver is `none`, the driver of `ai` applies. */
const familyFor = (name: string): DriverFamily => ({ name, driversOf: 'ai', default: 'none', builtins })

/** A separate provider for objects: `aiObject: { driver: anthropic, apiKey, models: { object } }`. */
export const aiObject = familyFor('aiObject')

/** A separate provider for images: `aiImage: { driver: google, apiKey, models: { image } }`. */
export const aiImage = familyFor('aiImage')
