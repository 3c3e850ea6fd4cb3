import { dirname } from 'node:path'

/** @param folder folder of the database; null for an in-memory database */
type Load = (folder: string | null) => object

let load: Load | undefined
let loaded: object | undefined

/**
 * Sets the loader of better-sqlite3's native addon, for a program that embeds the addon. It must be set before a
 * database is opened; `addon` is called only then.
 */
export function setNativeBinding(addon: Load): void {
  load = addon
}

/**
 * The option for better-sqlite3's constructor, whose types know only the form of a path. By default better-sqlite3
 * finds its own addon. The addon is loaded once: two copies would not recognise each other's errors.
 *
 * @param file path of the database
 */
export function nativeBinding(file: string): { nativeBinding?: string } {
  loaded ??= load?.(file === ':memory:' ? null : dirname(file))
  return loaded ? { nativeBinding: loaded as never } : {}
}
