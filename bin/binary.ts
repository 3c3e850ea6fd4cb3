// The entry point of the single binary: does the same as gameyard.js, with embedded files (see build/binary.ts).
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAsset, getAssetKeys, getRawAsset } from 'node:sea'
import type { FileSource } from '../core/data/built-files.ts'
import { type Addon, setNativeBinding } from '../drivers/database/sqlite-native.ts'
import { main } from './main.ts'
import { allocatorEnvironment, flagsOf, NODE_FLAGS } from './node-flags.js'

declare const VERSION: string

const names = new Set(getAssetKeys())
/** Returns an embedded file without a copy: the bytes are a view of the memory-mapped executable. */
const embedded =
  (folder: string): FileSource =>
  async (name) =>
    names.has(`${folder}/${name}`) ? new Uint8Array(getRawAsset(`${folder}/${name}`)) : null

let addon: Addon | undefined

/**
 * Loads the native SQLite addon. The system loads native code from real files only, so the addon is written to a
 * temporary file first. That file is beside the database when the system's folder for temporary files is mounted
 * `noexec` (a container's tmpfs, a hardened server).
 */
function loadAddon(databaseFolder: string | null): Addon {
  if (addon) return addon
  try {
    return loadAddonIn(tmpdir())
  } catch (error) {
    if (databaseFolder === null) throw error
    return loadAddonIn(databaseFolder)
  }
}

/** @param parent receives a temporary folder that belongs to this process only */
function loadAddonIn(parent: string): Addon {
  const folder = mkdtempSync(join(parent, 'gameyard-'))
  const file = join(folder, 'better_sqlite3.node')
  try {
    writeFileSync(file, new Uint8Array(getAsset('better_sqlite3.node')), { mode: 0o600 })
    const loaded = { exports: {} }
    process.dlopen(loaded, file)
    addon = { exports: loaded.exports, path: pathForThreads(file) }
    return addon
  } finally {
    // Windows keeps the file of loaded code; the system removes it with the temporary files.
    if (process.platform !== 'win32') rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Returns the path by which a thread loads the addon again. The system recognises a library by its file, so it must be
 * this one; a second copy in the process would release the locks of the first. Linux still finds a deleted file by an
 * open descriptor.
 */
function pathForThreads(file: string): string | null {
  if (process.platform === 'win32') return file
  return process.platform === 'linux' ? `/proc/self/fd/${openSync(file, 'r')}` : null
}

// The embedded Node has the flags of a server. Those of another command, and settings of the allocator, take effect only
// at a process start (bin/node-flags.js).
const flags = flagsOf(process.argv)
const allocator = flags && !process.connected ? allocatorEnvironment(process.env) : null
if (flags && allocator) {
  const others = flags.filter((flag) => !NODE_FLAGS.includes(flag))
  const options = [process.env.NODE_OPTIONS, ...others].filter(Boolean).join(' ')
  const env = others.length > 0 ? { ...allocator, NODE_OPTIONS: options } : allocator
  process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(2)], env)
}

setNativeBinding(loadAddon)
void main(process.argv, {
  version: VERSION,
  program: [process.execPath],
  binary: process.execPath,
  browser: embedded('browser'),
  configurations: embedded('config'),
  clientPackages: embedded('packages'),
})
