let load: (() => object) | undefined
let loaded: object | undefined

/**
 * Says how to load better-sqlite3's native addon, for a program that carries it inside itself. Called before a database
 * is opened; `addon` is asked only then.
 */
export function setNativeBinding(addon: () => object): void {
  load = addon
}

/**
 * The option for better-sqlite3's constructor, whose types know only the form of a path; by default it finds its own
 * addon. Loaded once: two copies would not know each other's errors.
 */
export function nativeBinding(): { nativeBinding?: string } {
  loaded ??= load?.()
  return loaded ? { nativeBinding: loaded as never } : {}
}
