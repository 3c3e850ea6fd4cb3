/** The interface of the script of framed pages (frame-session.ts) for the platform's other scripts in the page. */
export interface FrameSession {
  /** Resolves once it is known who plays; before that the game's own requests to the platform wait. */
  readonly ready: Promise<void>
  /** The token of requests where the browser keeps no cookie in this frame. */
  readonly token: string | null
}

/** Said on `window` when somebody has signed in or out in this frame. */
export const FRAME_SESSION_CHANGED = 'service:frame-session'

const KEY = Symbol.for('service.frame-session')

type Holder = { [KEY]?: FrameSession }

/** Of this page, or of another of the same origin; undefined at top level. */
export const frameSession = (page: object = globalThis): FrameSession | undefined => (page as Holder)[KEY]

export function setFrameSession(session: FrameSession): void {
  Object.defineProperty(globalThis, KEY, { value: session })
}
