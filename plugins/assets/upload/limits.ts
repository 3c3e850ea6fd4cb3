import type { Limits } from '../limits.ts'

/** What an upload form may hold: one file, a few fields. The second file is only for being refused by name. */
export const uploadForms = ({ assetBytes, assetPackBytes }: Limits) => ({
  limits: {
    fileSize: Math.max(assetBytes, assetPackBytes),
    ...{ files: 2, fields: 20, fieldSize: 20_000, parts: 22, headerPairs: 20 },
  },
  throwFileSizeLimit: false,
})
