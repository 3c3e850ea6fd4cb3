/**
 * Handles the platform's own pages of a framed sign-in on the game's origin: the sign-in window and the sign-out page.
 */

const HAND_OVER = 'service:hand-over'
const step = document.querySelector<HTMLElement>('[data-step]')

/** Signs in at top level in this window, because it can't sign in the frame. */
const playHere = () => location.replace('/auth/service/start?returnTo=/')

/** Returns the window that opened this one, if it belongs to the same game. */
function gameThatOpened(): Window | null {
  try {
    return window.opener?.location.origin === location.origin ? window.opener : null
  } catch {
    return null
  }
}

/**
 * Creates the ticket and sends it to the game while the two windows can still communicate. The ticket is not valid yet.
 */
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

/** Makes the ticket valid after the return from the portal. */
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
    // The storage held no ticket.
  }
  // The message contains nothing secret, so any surrounding page may receive it.
  window.parent.postMessage({ type: 'service:signed-out' }, '*')
  location.replace(step.dataset.returnTo ?? '/')
}
