interface Ticket {
  ticket: string | null
  action: string
}

/** The name of the frame where nobody is signed in. The game reads it (clients/browser/frame/play-page.ts). */
const VISITOR = 'service-visitor'

/**
 * Opens the frame of a game.
 *
 * @param place `data-src`: the game; `data-title`, `data-lang` and `data-allow`: the attributes of the frame;
 *   `data-ticket`: the path that issues tickets, for a player who is signed in here
 */
export function openFrame(place: HTMLElement): HTMLIFrameElement {
  const { ticket, src = '', title = '', lang = '', allow = '' } = place.dataset
  const frame = document.createElement('iframe')
  frame.title = title
  if (lang) frame.lang = lang
  frame.setAttribute('aria-describedby', 'play-keys')
  if (ticket !== undefined) signIn(place, frame, { path: ticket, src, allow })
  else {
    frame.name = VISITOR
    frame.allow = allow
    frame.src = src
    place.append(frame)
  }
  return frame
}

/** Leads a visitor who presses a sign-in button of the game to the sign-in, and back to this page. */
export function leadToSignIn(frame: HTMLIFrameElement): void {
  if (frame.name !== VISITOR) return
  const game = new URL(frame.src).origin
  addEventListener('message', ({ source, origin, data }) => {
    if (source !== frame.contentWindow || origin !== game || data?.type !== 'service:sign-in') return
    frame.contentWindow?.postMessage({ type: 'service:sign-in' }, origin)
    location.assign(`/sign-in?${new URLSearchParams({ returnTo: location.pathname + location.search })}`)
  })
}

/**
 * Opens the frame for a player who is signed in here. A form posts a ticket into it, in a body and never in an address,
 * and the game's origin answers with its own session. Where the browser keeps no cookie in a frame, or the form did not
 * reach the game, the game's page asks for another ticket by message (clients/browser/frame/play-page.ts).
 *
 * The ticket is fetched when it is needed: it is valid for a minute, and a page may be restored after hours.
 */
function signIn(
  place: HTMLElement,
  frame: HTMLIFrameElement,
  { path, src, allow }: { path: string; src: string; allow: string },
): void {
  // The name is unique to this page, because forms find their target by name, in other tabs too.
  frame.name = `service-player-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`
  const origins = new Set([new URL(src).origin])
  // By default permissions go to the origin of `src`, and a frame that a form opens has none.
  const grant = () => {
    frame.allow = allow
      .split(';')
      .map((feature) => [feature.trim(), ...origins].join(' '))
      .join('; ')
  }
  grant()
  place.append(frame)

  const ticketFor = async (purpose: 'cookie' | 'token'): Promise<Ticket | null> => {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify({ purpose }) }).catch(() => null)
    if (!answer?.ok) return null
    const ticket: Ticket = await answer.json()
    // The game's main address may have changed since this page was rendered.
    origins.add(new URL(ticket.action).origin)
    grant()
    return ticket
  }

  let signedOut = false
  addEventListener('message', async ({ source, origin, data }) => {
    if (source !== frame.contentWindow || !origins.has(origin)) return
    if (data?.type === 'service:signed-out') signedOut = true
    if (data?.type !== 'service:ticket') return
    if (data.pressed) signedOut = false
    const ticket = signedOut ? null : ((await ticketFor('token'))?.ticket ?? null)
    frame.contentWindow?.postMessage({ type: 'service:ticket', ticket }, origin)
  })

  void ticketFor('cookie').then((answer) => {
    if (answer?.ticket) post(frame, src, { ticket: answer.ticket, action: answer.action })
    else frame.src = src
  })
}

function post(frame: HTMLIFrameElement, src: string, { ticket, action }: { ticket: string; action: string }): void {
  const { pathname, search } = new URL(src)
  const form = document.createElement('form')
  form.method = 'post'
  form.action = `${action}?${new URLSearchParams({ returnTo: pathname + search })}`
  form.target = frame.name
  const field = document.createElement('input')
  field.type = 'hidden'
  field.name = 'ticket'
  field.value = ticket
  form.append(field)
  document.body.append(form)
  form.submit()
  form.remove()
}
