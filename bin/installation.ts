import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type FileSource, folderSource } from '../core/data/built-files.ts'

/** Files that belong to the program: read from the package's folder, or from the single binary. */
export interface Installation {
  version: string
  /** How to run this program again, as a process of its own. */
  program: [command: string, ...arguments: string[]]
  /** The single binary's own file; absent for a package or a source tree. */
  binary?: string
  /** Built style sheets, fonts and browser scripts. */
  browser: FileSource
  /** Ready-made configuration files. */
  configurations: FileSource
}

/** The installation of a package or a source tree. */
export function packageInstallation(): Installation {
  const root = dirname(import.meta.dirname)
  return {
    version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
    program: [process.execPath, join(root, 'bin/gameyard.js')],
    browser: folderSource(join(root, 'dist/browser')),
    configurations: folderSource(join(root, 'config/files')),
  }
}
