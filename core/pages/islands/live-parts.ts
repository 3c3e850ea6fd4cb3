/**
 * Updates marked parts of a page when they change on the server: `data-events` names a stream whose event `parts`
 * carries the HTML of each `data-part` by name. Without this script the viewer reloads the page.
 */
export function followEvents(): void {
  const address = document.querySelector<HTMLElement>('[data-events]')?.dataset.events
  if (!address) return
  let source: EventSource | null = null
  const attend = () => {
    source?.close()
    // A hidden page closes its stream, since browsers limit the connections to a site.
    source = document.hidden ? null : new EventSource(address)
    source?.addEventListener('parts', ({ data }: MessageEvent<string>) => show(JSON.parse(data)))
    source?.addEventListener('error', () => {
      // EventSource reconnects after an outage, but not after an HTTP error, such as while the server starts.
      if (source?.readyState === EventSource.CLOSED) setTimeout(attend, RETRY_MS)
    })
  }
  document.addEventListener('visibilitychange', attend)
  addEventListener('pagehide', () => source?.close())
  addEventListener('pageshow', (event) => event.persisted && attend())
  attend()
}

const RETRY_MS = 15_000

function show(parts: Record<string, string>): void {
  for (const part of document.querySelectorAll<HTMLElement>('[data-part]')) {
    const text = parts[part.dataset.part ?? '']
    if (text === undefined) continue
    const fresh = part.cloneNode() as HTMLElement
    fresh.innerHTML = text
    change(part, fresh)
  }
}

/** Changes only nodes that differ. Keeps the user's selection and focus, and does not reload images. */
export function change(here: Node, fresh: Node): void {
  if (here.isEqualNode(fresh)) return
  if (!(here instanceof Element && fresh instanceof Element) || here.nodeName !== fresh.nodeName) {
    ;(here as ChildNode).replaceWith(fresh)
    return
  }
  for (const { name } of [...here.attributes]) if (!fresh.hasAttribute(name)) here.removeAttribute(name)
  for (const { name, value } of fresh.attributes) here.setAttribute(name, value)
  const wanted = [...fresh.childNodes]
  for (const [index, child] of wanted.entries()) {
    const own = here.childNodes[index]
    if (own) change(own, child)
    else here.append(child)
  }
  while (here.childNodes.length > wanted.length) here.lastChild?.remove()
}
