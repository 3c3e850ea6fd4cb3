/** The largest text that the editor opens, in bytes. */
export const TEXT_BYTES = 256 * 1024
