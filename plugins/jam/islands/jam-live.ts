/**
 * Updates the marked parts of the page by fetching the page again, so that the server renders them in one place.
 * Without this script the viewer reloads the page. Forms are outside of these parts, so that a partly filled form is
 * not lost.
 */
const EVERY_MS = 3000

async function refresh(): Promise<void> {
  const answer = await fetch(location.pathname, { headers: { accept: 'text/html' } })
  if (!answer.ok) return
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
  for (const part of document.querySelectorAll<HTMLElement>('[data-live]')) {
    const next = fresh.querySelector<HTMLElement>(`[data-live="${part.dataset.live}"]`)
    // A part with the focus is not replaced, so that nothing moves before a click.
    if (!next || next.innerHTML === part.innerHTML || part.contains(document.activeElement)) continue
    part.replaceChildren(...next.childNodes)
  }
}

async function follow(): Promise<void> {
  if (!document.hidden) await refresh().catch(() => {})
  setTimeout(follow, EVERY_MS)
}

setTimeout(follow, EVERY_MS)
