import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

/** The file that `npm start` runs, for a Node of one's choice. */
export const FROM_SOURCE: string = resolve(root, 'bin/gameyard.js')

/** The command `gameyard` as the tests of processes run it: from source, or the binary that the environment names. */
export const GAMEYARD: [string, ...string[]] = process.env.GAMEYARD_BINARY
  ? [resolve(process.env.GAMEYARD_BINARY)]
  : [process.execPath, FROM_SOURCE]
