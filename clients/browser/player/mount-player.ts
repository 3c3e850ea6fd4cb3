import { FRAME_SESSION_CHANGED } from '../frame/hook.ts'
import { adoptStyle, playerChip, STYLE, signInButton } from './chip.ts'
import type { Session } from './session.ts'

/** In the flow of the page, where the game put the element. */
const HERE = ':host { display: inline-block; position: relative; max-width: 100% }'

export interface MountPlayerOptions {
  gameName: string
  /** Where a sign-in begins. */
  signInUrl: () => string
  /** Null: it can't be known, and nobody is taken to be signed in. */
  session: () => Promise<Session | null>
  signOut: () => Promise<void>
  onSession?: ((session: Session) => void) | undefined
}

/** The element in the page. */
export interface Mounted {
  /** As it was last read. */
  readonly session: Session
  /** Reads it anew, and shows what it says. */
  refresh(): Promise<Session>
  unmount(): void
}

/** Shows the button or the player in an element of the page. @throws when no element matches the selector */
export async function mountPlayer(selector: string | HTMLElement, options: MountPlayerOptions): Promise<Mounted> {
  const host = typeof selector === 'string' ? document.querySelector<HTMLElement>(selector) : selector
  if (!host) throw new Error(`There is no element ${String(selector)} on this page.`)
  // A second time in one place takes over from the first.
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  adoptStyle(root, HERE + STYLE)
  let session: Session = { signedIn: false }
  let shown = ''
  const refresh = async (): Promise<Session> => {
    const found = await options.session()
    // Not to be had just now: what is shown stays.
    if (!found && shown !== '') return session
    session = found ?? { signedIn: false }
    const key = JSON.stringify(session.user ?? null)
    if (key === shown) return session
    shown = key
    const { user } = session
    const leave = async () => {
      await options.signOut()
      await refresh()
    }
    root.replaceChildren(user ? playerChip(user, leave) : signInButton(options.signInUrl, options.gameName))
    options.onSession?.(session)
    return session
  }
  const stop = new AbortController()
  const again = { signal: stop.signal }
  // Signed in or out in another tab meanwhile, or brought back by the back button.
  addEventListener('pageshow', (event) => event.persisted && void refresh(), again)
  addEventListener(FRAME_SESSION_CHANGED, () => void refresh(), again)
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && void refresh(), again)
  await refresh()
  return {
    get session() {
      return session
    },
    refresh,
    unmount() {
      stop.abort()
      root.replaceChildren()
    },
  }
}
