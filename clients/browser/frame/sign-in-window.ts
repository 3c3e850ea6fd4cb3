const WINDOW = '/auth/service/window'
const LOOK_MS = 1000
/** The maximum duration of a sign-in. */
const GIVE_UP_MS = 600_000

/**
 * Signs in through a separate window, which gives the frame a ticket that becomes valid once the player has signed in
 * there. The windows cannot communicate after that: the portal's pages cut the link between a window and its opener
 * (COOP).
 *
 * Must be called in a click handler.
 *
 * @param redeem resolves with whether the ticket is valid yet
 */
export function signInByWindow(redeem: (ticket: string) => Promise<boolean>): Promise<boolean> {
  const opened = window.open(WINDOW, '_blank', 'popup,width=480,height=760')
  return new Promise((resolve) => {
    let ticket: string | null = null
    const started = Date.now()
    const onMessage = ({ source, origin, data }: MessageEvent) => {
      if (source !== opened || origin !== location.origin || data?.type !== 'service:hand-over') return
      ticket = String(data.ticket)
    }
    addEventListener('message', onMessage)
    const look = async () => {
      const good = ticket !== null && (await redeem(ticket))
      if (!good && opened && Date.now() - started < GIVE_UP_MS) return void setTimeout(look, LOOK_MS)
      removeEventListener('message', onMessage)
      resolve(good)
    }
    void look()
  })
}
