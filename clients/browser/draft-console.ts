/**
 * Sends what a game in the preview of a draft logs, and its errors, to the editor around it. The platform inserts this
 * script before every other one of such a document. It sends to the portal only, and at top level it does nothing.
 */
const portal = document.currentScript instanceof HTMLScriptElement ? document.currentScript.dataset.portal : undefined

type Level = 'log' | 'info' | 'debug' | 'warn' | 'error'

interface Position {
  file: string | null
  line: number
  column: number
}

/** The longest text of a line in characters, and the largest number of lines of one page. */
const LONGEST = 4000
const MOST = 1000

const NOWHERE: Position = { file: null, line: 0, column: 0 }
let sent = 0

function send(level: Level, text: string, { file, line, column }: Position): void {
  if (portal === undefined || sent++ >= MOST) return
  window.parent.postMessage({ gameyard: 'console', level, text: text.slice(0, LONGEST), file, line, column }, portal)
}

/** Returns the place in a file of the game; the address of a document that ends in `/` is its `index.html`. */
function positionOf(address: string, line: number, column: number): Position {
  try {
    const { origin, pathname } = new URL(address)
    if (origin !== location.origin || pathname.startsWith('/__service/')) return NOWHERE
    const path = decodeURIComponent(pathname).slice(1)
    return { file: path === '' || path.endsWith('/') ? `${path}index.html` : path, line, column }
  } catch {
    return NOWHERE
  }
}

/** Finds the first place of the game in the stack of an error, in the forms of all browsers. */
function placeIn(stack: string | undefined): Position {
  for (const line of stack?.split('\n') ?? []) {
    const [, address, row, column] = /(https?:\/\/[^\s()@]+?):(\d+):(\d+)\)?$/.exec(line.trim()) ?? []
    const place = address === undefined ? NOWHERE : positionOf(address, Number(row), Number(column))
    if (place.file !== null) return place
  }
  return NOWHERE
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (typeof value === 'function') return `function ${value.name}`
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return String(value)
  }
}

if (window.parent !== window && portal !== undefined) {
  for (const level of ['log', 'info', 'debug', 'warn', 'error'] as const) {
    const original = console[level].bind(console)
    console[level] = (...values: unknown[]) => {
      original(...values)
      send(level, values.map(textOf).join(' '), placeIn(new Error('place').stack))
    }
  }
  addEventListener(
    'error',
    (event) => {
      const { target } = event
      // A file that did not load has no message.
      if (target instanceof HTMLElement) {
        const address = target.getAttribute('src') ?? target.getAttribute('href') ?? ''
        return send('error', `${address} did not load.`, NOWHERE)
      }
      const { message, filename, lineno, colno } = event as ErrorEvent
      send('error', message, positionOf(filename, lineno, colno))
    },
    true,
  )
  addEventListener('unhandledrejection', ({ reason }) => {
    send('error', `Unhandled: ${textOf(reason)}`, placeIn(reason instanceof Error ? reason.stack : undefined))
  })
}

export {}
