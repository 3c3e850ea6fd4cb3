import Type from 'typebox'
import { Secret } from '../../core/config.ts'
import { defineDriver } from '../../core/driver.ts'
import { fetchFrom } from './fetch.ts'
import { type AiProvider, type GenerationType, modelsOf, providerConfig } from './interface.ts'
import { createProvider, type Vendor } from './provider.ts'

/** The options for a vendor's SDK. */
export interface VendorOptions {
  apiKey: string
  baseURL: string
  fetch: typeof fetch
}

/** The differences between the APIs of vendors. */
export interface HostedApi {
  name: string
  /** The default address of the API. */
  baseUrl: string
  /** Tells the operator where to get an API key. */
  keySource: string
  /** The types that the API can generate. */
  types: readonly GenerationType[]
  /** Loads the vendor's SDK, once, at the first generation. */
  load(options: VendorOptions): Promise<Vendor>
}

/** Declares the driver of a vendor's API: an address, an API key, and a provider of the Vercel AI SDK. */
export function defineHostedProvider({ name, baseUrl: defaultUrl, keySource, types, load }: HostedApi) {
  return defineDriver({
    family: 'ai',
    name,
    config: Type.Object(
      {
        apiKey: Secret({ description: `An API key of ${keySource}.`, minLength: 1 }),
        baseUrl: Type.String({
          default: defaultUrl,
          pattern: '^https?://[^\\s?#]+$',
          description: 'Address of the API.',
        }),
        ...providerConfig,
      },
      { additionalProperties: false },
    ),

    async create({ apiKey, baseUrl, models, pricing }, { clock }): Promise<AiProvider> {
      const configured = modelsOf(models)
      const of = (type: GenerationType) => (types.includes(type) ? configured[type] : [])
      return createProvider({
        models: { text: of('text'), object: of('object'), image: of('image') },
        pricing,
        clock,
        load: () => load({ apiKey, baseURL: baseUrl, fetch: fetchFrom(baseUrl) }),
      })
    },
  })
}
