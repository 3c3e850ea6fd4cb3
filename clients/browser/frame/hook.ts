/** The interface of the script of framed pages (frame-session.ts) for the platform's other scripts in the page. */
export interface FrameSession {
  /** Resolves once the player is known. Until then the game's own requests to the platform wait. */
  readonly ready: Promise<void>
  /** The token for requests in a frame where the browser keeps no cookie. */
  readonly token: string | null
}

/** Dispatched on `window` when a player has signed in or out in this frame. */
export const FRAME_SESSION_CHANGED = 'service:frame-session'

const KEY = Symbol.for('service.frame-session')

type Holder = { [KEY]?: FrameSession }

/** Returns the frame session of this page or of another one of the same origin; undefined at top level. */
export const frameSession = (page: object = globalThis): FrameSession | undefined => (page as Holder)[KEY]

export function setFrameSession(session: FrameSession): void {
  Object.defineProperty(globalThis, KEY, { value: session })
}
