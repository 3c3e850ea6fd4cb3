import { createRequire } from 'node:module'
import { dirname } from 'node:path'

/** The addon, and the path from which a thread of this process can load it again; null where it cannot. */
export interface Addon {
  exports: object
  path: string | null
}

/** @param folder folder of the database; null for an in-memory database */
type Load = (folder: string | null) => Addon

let load: Load | undefined
let loaded: Addon | undefined

/**
 * Sets the loader of better-sqlite3's native addon, for a program that embeds the addon. It must be set before a
 * database is opened; `addon` is called only then. Without a loader better-sqlite3 finds its own addon.
 */
export function setNativeBinding(addon?: Load): void {
  load = addon
  loaded = undefined
}

/**
 * The option for better-sqlite3's constructor, whose types know only the form of a path. By default better-sqlite3
 * finds its own addon. The addon is loaded once: two copies would not recognise each other's errors.
 *
 * @param file path of the database
 */
export function nativeBinding(file: string): { nativeBinding?: string } {
  loaded ??= load?.(file === ':memory:' ? null : dirname(file))
  return loaded ? { nativeBinding: loaded.exports as never } : {}
}

/** Returns the path of the addon that is in use, for a thread that loads it too; null where a thread cannot load it. */
export function addonPath(): string | null {
  if (load) return loaded?.path ?? null
  const modules = Object.keys(createRequire(import.meta.url).cache)
  return modules.find((path) => /better-sqlite3.*\.node$/.test(path)) ?? null
}
