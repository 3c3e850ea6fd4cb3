const WINDOW = '/auth/service/window'
const LOOK_MS = 1000
/** As long as a sign-in may take. */
const GIVE_UP_MS = 600_000

/**
 * Signs in by a window of its own, which hands the frame a ticket that becomes good once somebody has signed in there. The
 * two can't talk after that: the portal's pages cut the tie between a window and its opener (COOP).
 *
 * Must be called in a click.
 *
 * @param redeem whether a ticket is good by now
 */
export function signInByWindow(redeem: (ticket: string) => Promise<boolean>): Promise<boolean> {
  const opened = window.open(WINDOW, '_blank', 'popup,width=480,height=760')
  return new Promise((resolve) => {
    let ticket: string | null = null
    const started = Date.now()
    const hear = ({ source, origin, data }: MessageEvent) => {
      if (source !== opened || origin !== location.origin || data?.type !== 'service:hand-over') return
      ticket = String(data.ticket)
    }
    addEventListener('message', hear)
    const look = async () => {
      const good = ticket !== null && (await redeem(ticket))
      if (!good && opened && Date.now() - started < GIVE_UP_MS) return void setTimeout(look, LOOK_MS)
      removeEventListener('message', hear)
      resolve(good)
    }
    void look()
  })
}
