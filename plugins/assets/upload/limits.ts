import type { Limits } from '../limits.ts'

/** The limits of an upload form: one file and a few fields. A second file causes a clear error. */
export const uploadForms = ({ assetBytes, assetPackBytes }: Limits) => ({
  limits: {
    fileSize: Math.max(assetBytes, assetPackBytes),
    files: 2,
    fields: 20,
    fieldSize: 20_000,
    parts: 22,
    headerPairs: 20,
  },
  throwFileSizeLimit: false,
})

/** The overhead of multipart. */
const ENVELOPE_BYTES = 128 * 1024

/** The body limit of the routes with an upload form. */
export const uploadRule = ({ assetBytes, assetPackBytes }: Limits) => ({
  maxBytes: Math.max(assetBytes, assetPackBytes) + ENVELOPE_BYTES,
})
