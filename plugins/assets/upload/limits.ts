import type { Limits } from '../limits.ts'

/** The limits of an upload form: one file, a few fields. The second file gets a clear refusal. */
export const uploadForms = ({ assetBytes, assetPackBytes }: Limits) => ({
  limits: {
    fileSize: Math.max(assetBytes, assetPackBytes),
    ...{ files: 2, fields: 20, fieldSize: 20_000, parts: 22, headerPairs: 20 },
  },
  throwFileSizeLimit: false,
})

/** The overhead of multipart. */
const ENVELOPE_BYTES = 128 * 1024

/** The rule of the routes that take such a form. */
export const uploadRule = ({ assetBytes, assetPackBytes }: Limits) => ({
  maxBytes: Math.max(assetBytes, assetPackBytes) + ENVELOPE_BYTES,
})
