import type { Readable } from 'node:stream'

/** A file of a build. */
export interface BuildFile {
  path: string
  /** In bytes. */
  size: number
  /** The type that its maker announced, if any. */
  announcedType?: string
}

/** Opens the first `bytes` of a file of the build; more than the file has means all. */
export type OpenFile<File extends BuildFile> = (file: File, bytes: number) => Promise<Readable>
