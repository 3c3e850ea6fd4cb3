/** The messages by which the play page asks whether this frame may store anything, and hears that it may not. */
const MESSAGE = 'service:no-storage'

/**
 * Stands in for `localStorage` and `sessionStorage` where the browser denies them to a frame of another site, as Chromium
 * does when it blocks the cookies of other sites. Reading them throws there, and most games end with that. What is kept
 * lives as long as the page, so the play page around the frame offers the game's own address.
 *
 * @param portal origin of the play page
 */
export function replaceDeniedStorage(portal: string): void {
  try {
    if (window.localStorage) return
  } catch {}
  for (const name of ['localStorage', 'sessionStorage']) {
    Object.defineProperty(window, name, { value: memoryStorage(), configurable: true, enumerable: true })
  }
  // In a page that is no play page nobody listens.
  if ((location.ancestorOrigins?.[0] ?? portal) !== portal) return
  const say = () => window.top?.postMessage({ type: MESSAGE }, portal)
  addEventListener('message', ({ source, origin, data }) => {
    if (source === window.top && origin === portal && data?.type === MESSAGE) say()
  })
  say()
}

/** Makes a Storage that keeps its values in memory. They are properties of it, too. */
function memoryStorage(): Storage {
  const values = new Map<string, string>()
  const methods = {
    getItem: (key: string) => values.get(String(key)) ?? null,
    setItem: (key: string, value: string) => {
      values.set(String(key), String(value))
    },
    removeItem: (key: string) => {
      values.delete(String(key))
    },
    clear: () => values.clear(),
    key: (at: number) => [...values.keys()][at] ?? null,
    get length() {
      return values.size
    },
  }
  return new Proxy(methods as Storage, {
    get: (target, name) => (name in target || typeof name === 'symbol' ? Reflect.get(target, name) : values.get(name)),
    set: (target, name, value) => {
      if (typeof name === 'string' && !(name in target)) values.set(name, String(value))
      return true
    },
    has: (target, name) => name in target || values.has(String(name)),
    deleteProperty: (_, name) => {
      values.delete(String(name))
      return true
    },
    ownKeys: () => [...values.keys()],
    getOwnPropertyDescriptor: (_, name) => {
      const value = values.get(String(name))
      return value === undefined ? undefined : { value, configurable: true, enumerable: true, writable: true }
    },
  })
}
