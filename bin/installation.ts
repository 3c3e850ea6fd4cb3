import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type FileSource, folderSource } from '../core/data/built-files.ts'

/** The files of the program, from the package folder or the single binary. */
export interface Installation {
  version: string
  /** The command that starts this program in a separate process. */
  program: [command: string, ...arguments: string[]]
  /** Path of the single binary; absent for a package or a source tree. */
  binary?: string
  /** Built style sheets, fonts and browser scripts. */
  browser: FileSource
  /** Example configuration files. */
  configurations: FileSource
  /** The packages for game developers (core/data/client-packages.ts). */
  clientPackages: FileSource
}

/** Returns the installation of a package or a source tree. */
export function packageInstallation(): Installation {
  const root = dirname(import.meta.dirname)
  return {
    version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
    program: [process.execPath, join(root, 'bin/gameyard.js')],
    browser: folderSource(join(root, 'dist/browser')),
    configurations: folderSource(join(root, 'config/files')),
    clientPackages: folderSource(join(root, 'dist/packages')),
  }
}
