import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Reads a built file by its name, relative to the folder of the browser build; null when it does not exist. Callers
 * must not write to the bytes: in the single binary they are part of the program.
 */
export type FileSource = (name: string) => Promise<Uint8Array | null>

/** Reads files from a folder on disk, as `build/browser.ts` writes them. */
export const folderSource =
  (folder: string): FileSource =>
  async (name) =>
    readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })

/** The content of `manifest.json` of the browser build. */
export interface BrowserManifest {
  files: Record<string, { file: string; contentType: string; encodings: ('br' | 'gzip')[] }>
  /** Files of worker thread programs, by program name (worker-programs.ts). Browsers do not load them. */
  workers: Record<string, string>
}

/** Lists every file of a build, including the manifest, for embedding in a single binary. */
export const browserFileNames = (manifest: BrowserManifest): string[] => [
  'manifest.json',
  ...Object.values(manifest.files).flatMap(({ file, encodings }) => [
    file,
    ...encodings.map((coding) => `${file}.${coding === 'br' ? 'br' : 'gz'}`),
  ]),
  ...Object.values(manifest.workers ?? {}),
]
