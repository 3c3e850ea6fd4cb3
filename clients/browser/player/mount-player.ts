import { FRAME_SESSION_CHANGED } from '../frame/hook.ts'
import { adoptStyle, playerChip, STYLE, signInButton } from './chip.ts'
import { languageOf, onLanguageChange } from './language.ts'
import type { Session } from './session.ts'
import { type OwnTexts, textsIn } from './texts.ts'

/** Positions the element in the page's flow, where the game put it. */
const HERE = ':host { display: inline-block; position: relative; max-width: 100% }'

export interface MountPlayerOptions {
  gameName: string
  /** The address at which a sign-in begins. */
  signInUrl: () => string
  /** Resolves with null when the session is unavailable; the player then counts as signed out. */
  session: () => Promise<Session | null>
  signOut: () => Promise<void>
  onSession?: ((session: Session) => void) | undefined
  /** Texts of the game, instead of the built-in ones in the language of the element. */
  texts?: OwnTexts | undefined
}

/** The mounted element. */
export interface Mounted {
  /** The session as last read. */
  readonly session: Session
  /** Reads the session again and updates the element. */
  refresh(): Promise<Session>
  unmount(): void
}

/** Shows the button or the player in an element of the page. @throws when no element matches the selector */
export async function mountPlayer(selector: string | HTMLElement, options: MountPlayerOptions): Promise<Mounted> {
  const host = typeof selector === 'string' ? document.querySelector<HTMLElement>(selector) : selector
  if (!host) throw new Error(`There is no element ${String(selector)} on this page.`)
  // A second mount in the same element replaces the first.
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  adoptStyle(root, HERE + STYLE)
  let session: Session = { signedIn: false }
  let shown = ''
  const refresh = async (): Promise<Session> => {
    const found = await options.session()
    // The session is temporarily unavailable, so the element keeps its content.
    if (!found && shown !== '') return session
    session = found ?? { signedIn: false }
    const key = JSON.stringify(session.user ?? null)
    if (key === shown) return session
    shown = key
    draw()
    options.onSession?.(session)
    return session
  }
  const draw = () => {
    const texts = textsIn(languageOf(host), options.texts)
    const { user } = session
    const leave = async () => {
      await options.signOut()
      await refresh()
    }
    root.replaceChildren(
      user ? playerChip(user, leave, texts) : signInButton(options.signInUrl, texts, options.gameName),
    )
  }
  const stop = new AbortController()
  const again = { signal: stop.signal }
  // The player may have signed in or out in another tab, or returned with the back button.
  addEventListener('pageshow', (event) => event.persisted && void refresh(), again)
  addEventListener(FRAME_SESSION_CHANGED, () => void refresh(), again)
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && void refresh(), again)
  onLanguageChange(draw, stop.signal)
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
