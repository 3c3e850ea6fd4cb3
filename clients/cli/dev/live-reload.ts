import { type FSWatcher, watch } from 'node:fs'
import type { ServerResponse } from 'node:http'

/** The address of the change events. No deploy can have this path. */
export const RELOAD_PATH = '/__service/dev/changes'

/** Changes within this time count as one, because builds write many files. In milliseconds. */
const SETTLE_MS = 100

/**
 * The script inserted into pages. It reloads style sheets if only those changed, else the page, and reloads after the
 * server was unreachable. It says when its page began to load: a change of the time between is not lost.
 */
export const RELOAD_SCRIPT = `<script>
(() => {
  const changes = new EventSource('${RELOAD_PATH}?since=' + performance.timeOrigin)
  let away = false
  changes.addEventListener('open', () => { if (away) location.reload() })
  changes.addEventListener('error', () => { away = true })
  changes.addEventListener('page', () => location.reload())
  changes.addEventListener('styles', () => {
    for (const link of document.querySelectorAll('link[rel~=stylesheet]')) {
      const address = new URL(link.href)
      address.searchParams.set('changed', Date.now())
      link.href = address
    }
  })
})()
</script>`

/** Notifies open pages of changes in a folder. */
export class LiveReload {
  readonly #pages = new Set<ServerResponse>()
  readonly #watcher: FSWatcher
  #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  /** The time of the last event, in ms since 1970. */
  #sentAt = 0

  /** @param changed called with the changed files, relative to the folder; pages reload after it */
  constructor(folder: string, changed: (names: string[]) => void | Promise<void>) {
    this.#watcher = watch(folder, { recursive: true }, (_event, name) => {
      if (name && /(?:^|[\\/])(?:\.git|node_modules)(?:[\\/]|$)/.test(name)) return
      this.#changed.add(name ?? '')
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => {
        const names = [...this.#changed]
        this.#changed = new Set()
        void Promise.try(changed, names)
          .catch((error: Error) => console.error(error.message))
          .then(() => this.#send(names.every((entry) => entry.endsWith('.css')) ? 'styles' : 'page'))
      }, SETTLE_MS)
    })
    // On some systems, watching ends when the folder is removed and rebuilt. The server continues without it.
    this.#watcher.on('error', () => {})
  }

  /** @param since when the page began to load, in ms since 1970; it reloads if files have changed since then */
  listen(response: ServerResponse, since: number): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write('retry: 500\n\n')
    if (since < this.#sentAt) response.write(message('page'))
    this.#pages.add(response)
    response.on('close', () => this.#pages.delete(response))
  }

  #send(event: 'page' | 'styles'): void {
    this.#sentAt = Date.now()
    for (const page of this.#pages) page.write(message(event))
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#watcher.close()
    for (const page of this.#pages) page.end()
  }
}

const message = (event: 'page' | 'styles'): string => `event: ${event}\ndata: \n\n`
