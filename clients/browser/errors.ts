/**
 * Reports the exceptions of a page to the makers of the game. It comes before the scripts of the game:
 *
 *   <script src="/__service/errors.js"></script>
 *
 * Errors that the game has caught are reported by the browser's own `reportError(error)`.
 */
interface Reported {
  message: string
  path: string | null
  line: number | null
  column: number | null
  stack: string | null
  count: number
}

const ADDRESS = '/__service/errors'
/** The first report waits for what follows at once, and the others for a number of occurrences. */
const FIRST_MS = 1000
const NEXT_MS = 10_000
/** A page that fails in each frame is no reason to send for ever. */
const MOST_REPORTS = 30
/** The largest numbers and lengths that the platform accepts. */
const MOST_IN_REPORT = 10
const MOST_OCCURRENCES = 10_000
const LONGEST = { message: 500, path: 500, stack: 2000 }

let waiting = new Map<string, Reported>()
let timer: ReturnType<typeof setTimeout> | undefined
let reports = 0

/** Returns a text that the platform takes: it refuses NUL and half a surrogate pair. */
const cut = (text: string, length: number): string => text.slice(0, length).replaceAll('\0', '�').toWellFormed()

/** Returns the path of a file of the game, or the address of a script elsewhere; null for a browser's extension. */
function pathOf(address: string): string | null {
  try {
    const { origin, pathname, protocol } = new URL(address, location.href)
    if (!/^https?:$/.test(protocol)) return null
    if (origin !== location.origin) return cut(origin + pathname, LONGEST.path)
    const path = pathname.slice(1)
    return cut(path === '' || path.endsWith('/') ? `${path}index.html` : path, LONGEST.path)
  } catch {
    return null
  }
}

/** Whether an error is that of a browser's extension, which its user has chosen and the game knows nothing of. */
const isOfExtension = (place: string | undefined): boolean => /^\s*(?:at .*)?\(?[a-z-]+-extension:/m.test(place ?? '')

function add(error: Omit<Reported, 'count'>): void {
  // Numbers in a message, such as ids, make no other error.
  const key = `${error.message.replace(/\d+/g, '#')}\n${error.path}:${error.line}:${error.column}`
  const known = waiting.get(key)
  if (known) known.count = Math.min(MOST_OCCURRENCES, known.count + 1)
  else if (waiting.size < MOST_IN_REPORT) waiting.set(key, { ...error, count: 1 })
  if (reports < MOST_REPORTS) timer ??= setTimeout(send, reports === 0 ? FIRST_MS : NEXT_MS)
}

function send(): void {
  clearTimeout(timer)
  timer = undefined
  if (waiting.size === 0 || reports >= MOST_REPORTS) return
  reports++
  const body = JSON.stringify({ errors: [...waiting.values()], age: Math.round(performance.now()) })
  waiting = new Map()
  // A page that is being closed sends it nevertheless. Without a connection it is lost.
  fetch(ADDRESS, { method: 'POST', headers: { 'content-type': 'application/json' }, body, keepalive: true }).catch(
    () => {},
  )
}

const positive = (value: number): number | null => (value >= 1 ? value : null)

/** Finds the first place in the stack of an error, in the forms of all browsers. */
function placeIn(stack: string): Pick<Reported, 'path' | 'line' | 'column'> {
  for (const line of stack.split('\n')) {
    const [, address = '', row, column] = /(https?:\/\/[^\s()@]+?):(\d+):(\d+)\)?$/.exec(line.trim()) ?? []
    const path = address === '' ? null : pathOf(address)
    if (path !== null) return { path, line: positive(Number(row)), column: positive(Number(column)) }
  }
  return { path: null, line: null, column: null }
}

function textOf(reason: unknown): string {
  if (reason instanceof Error) return `${reason.name}: ${reason.message}`
  try {
    return typeof reason === 'object' ? (JSON.stringify(reason) ?? '') : String(reason)
  } catch {
    return String(reason)
  }
}

const stackOf = (error: unknown): string | null =>
  error instanceof Error && error.stack ? cut(error.stack, LONGEST.stack) : null

addEventListener(
  'error',
  (event: Event) => {
    if (!(event instanceof ErrorEvent)) {
      // A file that did not load. The element says which.
      const { target } = event
      const address = target instanceof Element ? (target.getAttribute('src') ?? target.getAttribute('href')) : null
      const path = address === null ? null : pathOf(address)
      if (path !== null) {
        const message = cut(`${path} did not load.`, LONGEST.message)
        add({ message, path: pathOf(location.href), line: null, column: null, stack: null })
      }
      return
    }
    const { message, filename, lineno, colno, error } = event
    const stack = stackOf(error)
    if (isOfExtension(filename) || isOfExtension(stack?.split('\n').find((line) => /:\d+:\d+/.test(line)))) return
    const own = { path: filename ? pathOf(filename) : null, line: positive(lineno), column: positive(colno) }
    // Where an error was made says more than where it was thrown again or reported. A syntax error has no such place.
    const made = placeIn(stack ?? '')
    // Chrome begins with a word that other browsers leave out.
    const words = message.replace(/^Uncaught /, '') || 'Error'
    add({ message: cut(words, LONGEST.message), ...(made.path === null ? own : made), stack })
  },
  true,
)

addEventListener('unhandledrejection', ({ reason }) => {
  const stack = stackOf(reason)
  if (isOfExtension(stack?.split('\n').find((line) => /:\d+:\d+/.test(line)))) return
  add({ message: cut(`Unhandled: ${textOf(reason)}`, LONGEST.message), ...placeIn(stack ?? ''), stack })
})

addEventListener('pagehide', send)

export {}
