// The entry point of the single binary: does the same as gameyard.js, with embedded files (see build/binary.ts).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAsset, getAssetKeys, getRawAsset } from 'node:sea'
import type { FileSource } from '../core/data/built-files.ts'
import { setNativeBinding } from '../drivers/database/sqlite-native.ts'
import { main } from './main.ts'
import { allocatorEnvironment, serves } from './node-flags.js'

declare const VERSION: string

const names = new Set(getAssetKeys())
/** Returns an embedded file without a copy: the bytes are a view of the memory-mapped executable. */
const embedded =
  (folder: string): FileSource =>
  async (name) =>
    names.has(`${folder}/${name}`) ? new Uint8Array(getRawAsset(`${folder}/${name}`)) : null

const addon: { exports: object | null } = { exports: null }

/**
 * Loads the native SQLite addon. The system loads native code from real files only, so the addon is written to a
 * temporary file first. That file is beside the database when the system's folder for temporary files is mounted
 * `noexec` (a container's tmpfs, a hardened server).
 */
function loadAddon(databaseFolder: string | null): object {
  if (addon.exports) return addon.exports
  try {
    return loadAddonIn(tmpdir())
  } catch (error) {
    if (databaseFolder === null) throw error
    return loadAddonIn(databaseFolder)
  }
}

/** @param parent receives a temporary folder that belongs to this process only */
function loadAddonIn(parent: string): object {
  const folder = mkdtempSync(join(parent, 'gameyard-'))
  const file = join(folder, 'better_sqlite3.node')
  try {
    writeFileSync(file, new Uint8Array(getAsset('better_sqlite3.node')), { mode: 0o600 })
    const loaded = { exports: {} }
    process.dlopen(loaded, file)
    addon.exports = loaded.exports
    return loaded.exports
  } finally {
    // Windows keeps the file of loaded code; the system removes it with the temporary files.
    if (process.platform !== 'win32') rmSync(folder, { recursive: true, force: true })
  }
}

// The embedded Node has the flags already; allocator settings take effect only at a process start (bin/node-flags.js).
const env = serves(process.argv) ? allocatorEnvironment(process.env) : null
if (env) process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(2)], env)

setNativeBinding(loadAddon)
void main(process.argv, {
  version: VERSION,
  program: [process.execPath],
  binary: process.execPath,
  browser: embedded('browser'),
  configurations: embedded('config'),
})
