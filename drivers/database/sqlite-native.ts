import { dirname } from 'node:path'

/** @param folder of the database; null for one in memory */
type Load = (folder: string | null) => object

let load: Load | undefined
let loaded: object | undefined

/**
 * Says how to load better-sqlite3's native addon, for a program that carries it inside itself. Called before a database
 * is opened; `addon` is asked only then.
 */
export function setNativeBinding(addon: Load): void {
  load = addon
}

/**
 * The option for better-sqlite3's constructor, whose types know only the form of a path; by default it finds its own
 * addon. Loaded once: two copies would not know each other's errors.
 *
 * @param file of the database
 */
export function nativeBinding(file: string): { nativeBinding?: string } {
  loaded ??= load?.(file === ':memory:' ? null : dirname(file))
  return loaded ? { nativeBinding: loaded as never } : {}
}
