/**
 * Places the sign-in button, or the signed-in player, in an element that the game chooses:
 *
 *   import { mount } from '@gameyard/browser'
 *   const player = await mount('#player', { gameName: 'Pong' })
 *   if (player.session.signedIn) load(player.session.user.id)
 *
 * It uses the game's own routes below `/auth/service/`: those of a hosted game, or of the server adapter. Custom
 * properties restyle it: --auth-widget-background, -color, -accent, -accent-color, -font, -radius.
 */
import { type Mounted, mountPlayer } from './player/mount-player.ts'
import { readSession, type Session, startUrl } from './player/session.ts'
import type { OwnTexts } from './player/texts.ts'

export type { Mounted } from './player/mount-player.ts'
export { readSession, type Session } from './player/session.ts'
export type { OwnTexts } from './player/texts.ts'

export interface MountOptions {
  /** The game's name, for screen readers. */
  gameName: string
  /** The path below which the game is at its origin, if it does not have the origin to itself: `/pong`. */
  path?: string | undefined
  /** Called at once, and after each sign-in or sign-out. */
  onSession?: ((session: Session) => void) | undefined
  /** Texts of the game, instead of the built-in ones in the language of the element (`lang`). */
  texts?: OwnTexts | undefined
}

/** Resolves when the session is known. @throws when no element matches the selector */
export function mount(
  selector: string | HTMLElement,
  { gameName, path = '', onSession, texts }: MountOptions,
): Promise<Mounted> {
  const below = path.replace(/\/$/, '')
  return mountPlayer(selector, {
    gameName,
    onSession,
    texts,
    signInUrl: () => startUrl(below),
    session: () => readSession(`${below}/auth/service/session`),
    signOut: async () => {
      await fetch(`${below}/auth/service/logout`, { method: 'POST' }).catch(() => null)
    },
  })
}
