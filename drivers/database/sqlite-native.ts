import { dirname } from 'node:path'

/** @param folder of the database; null for one in memory */
type Load = (folder: string | null) => object

let load: Load | undefined
let loaded: object | undefined

/**
 * Sets how better-sqlite3's native addon is loaded, for a program that carries the addon inside itself. Called before a
 * database is opened; `addon` is called only then.
 */
export function setNativeBinding(addon: Load): void {
  load = addon
}

/**
 * The option for better-sqlite3's constructor, whose types know only the form of a path. By default better-sqlite3
 * finds its own addon. The addon is loaded once: two copies would not recognise each other's errors.
 *
 * @param file of the database
 */
export function nativeBinding(file: string): { nativeBinding?: string } {
  loaded ??= load?.(file === ':memory:' ? null : dirname(file))
  return loaded ? { nativeBinding: loaded as never } : {}
}
