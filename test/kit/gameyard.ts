import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

/** The file that `npm start` runs, for a test with a specific Node. */
export const FROM_SOURCE: string = resolve(root, 'bin/gameyard.js')

/** The command `gameyard` for tests of processes: from source, or the binary in GAMEYARD_BINARY. */
export const GAMEYARD: [string, ...string[]] = process.env.GAMEYARD_BINARY
  ? [resolve(process.env.GAMEYARD_BINARY)]
  : [process.execPath, FROM_SOURCE]
