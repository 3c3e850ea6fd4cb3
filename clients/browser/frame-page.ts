/** The platform's own pages of a framed sign-in, on the game's origin: the window that signs in, and the way out. */

const HAND_OVER = 'service:hand-over'
const step = document.querySelector<HTMLElement>('[data-step]')

/** The frame can't be signed in by this window: one plays here. */
const playHere = () => location.replace('/auth/service/start?returnTo=/')

/** The page that opened this window, if it is one of the same game. */
function gameThatOpened(): Window | null {
  try {
    return window.opener?.location.origin === location.origin ? window.opener : null
  } catch {
    return null
  }
}

/** Chooses the ticket and hands it to the game while the two can still talk; nothing is good about it yet. */
function begin(): void {
  const game = gameThatOpened()
  if (!game) {
    playHere()
    return
  }
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  const ticket = btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (sign) => ({ '+': '-', '/': '_' })[sign] ?? '')
  try {
    sessionStorage.setItem(HAND_OVER, ticket)
  } catch {
    playHere()
    return
  }
  game.postMessage({ type: HAND_OVER, ticket }, location.origin)
  location.replace('/auth/service/start?window=1')
}

/** Back from the portal: the ticket becomes good. */
async function end(ticket: string): Promise<void> {
  sessionStorage.removeItem(HAND_OVER)
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  await fetch('/auth/service/hand-over', { method: 'POST', headers, body: JSON.stringify({ ticket }) })
  window.close()
}

function chosenTicket(): string | null {
  try {
    return sessionStorage.getItem(HAND_OVER)
  } catch {
    return null
  }
}

if (step?.dataset.step === 'window') {
  const ticket = chosenTicket()
  if (ticket === null) begin()
  else void end(ticket)
}

if (step?.dataset.step === 'signed-out') {
  try {
    sessionStorage.removeItem('service:frame-token')
  } catch {
    // Nothing was kept.
  }
  // Says nothing that anyone must not know, so it may go to whichever page is around.
  window.parent.postMessage({ type: 'service:signed-out' }, '*')
  location.replace(step.dataset.returnTo ?? '/')
}
