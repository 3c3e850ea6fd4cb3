import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Reads a built file by its name, relative to the folder of the browser build; null when there is none. Callers must
 * not write to the bytes: in the single binary they are part of the program.
 */
export type FileSource = (name: string) => Promise<Uint8Array | null>

/** The files of a folder on disk, as `build/browser.ts` writes them. */
export const folderSource =
  (folder: string): FileSource =>
  async (name) =>
    readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })

/** What `manifest.json` of the browser build holds. */
export interface BrowserManifest {
  files: Record<string, { file: string; contentType: string; encodings: ('br' | 'gzip')[] }>
  /** Programs of worker threads, which no browser loads: the file, by the name of the program (worker-programs.ts). */
  workers: Record<string, string>
}

/** Names of every file that a build consists of, the manifest included: what a single binary must embed. */
export const browserFileNames = (manifest: BrowserManifest): string[] => [
  'manifest.json',
  ...Object.values(manifest.files).flatMap(({ file, encodings }) => [
    file,
    ...encodings.map((coding) => `${file}.${coding === 'br' ? 'br' : 'gz'}`),
  ]),
  ...Object.values(manifest.workers ?? {}),
]
