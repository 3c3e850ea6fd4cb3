import { formatBytes } from '../../core/format-bytes.ts'

/** The size of a message. `deploy_files` and `asset_upload` carry files as text, which makes binary ones a third longer. */
export const MOST_BYTES = 32 * 1024 ** 2
/** The rest of a message with files: names, quotation marks, the envelope. */
const ENVELOPE_BYTES = 1024 ** 2

/** The limit in words, for the descriptions of tools and for refusals. */
export const CALL_LIMIT = `A call has at most ${formatBytes(MOST_BYTES)}, so its binary files have about ${formatBytes(Math.floor(((MOST_BYTES - ENVELOPE_BYTES) * 3) / 4 / 1024 ** 2) * 1024 ** 2)} together.`
