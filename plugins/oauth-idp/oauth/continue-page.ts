import { Button, html, type View } from '../../../core/pages/index.ts'
import type { OAuthClient } from '../apps/client.ts'

/**
 * Returns a game's own address, where a sign-in can start over. Null for a program on a device, and for a client that
 * registered itself: no player has decided anything about it yet.
 *
 * @param redirectUri one that the client accepts
 */
export function homeOf(client: OAuthClient, redirectUri: string): string | null {
  if (client.registration !== null) return null
  if (client.gameId !== null && !client.hosted && client.homepageUrl) return client.homepageUrl
  const { protocol, origin } = new URL(redirectUri)
  return protocol === 'https:' || protocol === 'http:' ? `${origin}/` : null
}

/**
 * The last page of a sign-in that ended on another device than it began on. The game is one press away, because anybody
 * can have a mail sent that leads here.
 */
export const ContinuePage = ({ name, home }: { name: string; home: string }): View => html`
  <div class="stack">
    <header class="page-header">
      <h1>On to ${name}</h1>
      <p class="lede">The sign-in began in another browser, so it can't end in this one. Sign in once more at <strong class="mono">${new URL(home).host}</strong>: this browser knows you now.</p>
    </header>
    <div class="row"><${Button} kind="act" href=${home}>Open ${name}<//></div>
  </div>`
