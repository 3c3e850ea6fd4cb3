import type { AnyDriver, DriverFamily } from '../../core/driver.ts'

type Loader = () => Promise<{ default: AnyDriver }>

const builtins: Record<string, Loader> = {
  none: () => import('./none.ts'),
  'openai-compatible': () => import('./openai-compatible.ts'),
  openai: () => import('./openai.ts'),
  anthropic: () => import('./anthropic.ts'),
  google: () => import('./google.ts'),
}

/** The AI providers: `ai: { driver: openai-compatible, baseUrl, models: { text, object, image } }`. */
export const ai: DriverFamily = { name: 'ai', default: 'none', builtins }

/** Declares a family with the same drivers under another key. When its driver is `none`, the driver of `ai` applies. */
function familyFor(name: string): DriverFamily {
  const renamed =
    (load: Loader): Loader =>
    async () => ({ default: { ...(await load()).default, family: name } })
  const loaders = Object.entries(builtins).map(([driver, load]) => [driver, renamed(load)] as const)
  return { name, default: 'none', builtins: Object.fromEntries(loaders) }
}

/** A separate provider for objects: `aiObject: { driver: anthropic, apiKey, models: { object } }`. */
export const aiObject = familyFor('aiObject')

/** A separate provider for images: `aiImage: { driver: google, apiKey, models: { image } }`. */
export const aiImage = familyFor('aiImage')
