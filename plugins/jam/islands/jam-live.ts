/**
 * Keeps a page of the jam current by fetching it again, so that the server renders it in one place: at once when the
 * organiser has changed something, and regularly for players and games. Without this script the viewer reloads the
 * page.
 */
import { change } from '../../../core/pages/islands/live-parts.ts'
import { beginCountdowns, countDown, enterLocalTimes } from './jam/deadline.ts'

const EVERY_MS = 3000
/** The time after which a page that was to be left counts as staying. */
const STILL_HERE_MS = 30_000

/** The marker of the page's phase; only pages that depend on it as a whole have one. */
const phase = document.querySelector<HTMLElement>('[data-phase]')

async function refresh(): Promise<void> {
  const answer = await fetch(location.pathname, { headers: { accept: 'text/html' } })
  if (!answer.ok) return
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const now = fresh.querySelector<HTMLElement>('[data-phase]')
  const news = phase && now && newsOf(phase.dataset, now.dataset)
  if (isLeaving) return
  if (news && !isFillingIn()) {
    // A message about the last step, such as "Voting is open", may no longer be true.
    history.replaceState(null, '', location.pathname + location.hash)
    location.reload()
    return
  }
  if (phase) say(phase, news ?? '')
  beginCountdowns(fresh)
  for (const part of document.querySelectorAll<HTMLElement>('[data-live]')) {
    const next = fresh.querySelector<HTMLElement>(`[data-live="${part.dataset.live}"]`)
    // A part with the focus is not replaced, so that nothing moves before a click.
    if (!next || next.innerHTML === part.innerHTML || part.contains(document.activeElement)) continue
    change(part, next)
  }
}

const NEWS: Record<string, [began: string, ended: string]> = {
  results: ['The results are being shown.', 'The results are hidden again.'],
  voting: ['Voting has opened.', 'Voting has closed.'],
  submissions: ['Submissions have opened.', 'Submissions have closed.'],
}

/** Returns a sentence about what has changed, the most important first; null without a change. */
function newsOf(shown: DOMStringMap, fresh: DOMStringMap): string | null {
  const [before = [], now = []] = [shown.phase?.split(' '), fresh.phase?.split(' ')]
  if (before[0] !== now[0]) return before[0] ? 'A new jam has begun.' : 'The jam has begun.'
  for (const [word, [began, ended]] of Object.entries(NEWS))
    if (before.includes(word) !== now.includes(word)) return now.includes(word) ? began : ended
  return shown.settings === fresh.settings ? null : 'The jam has changed.'
}

/** Shows the news where loading the page again would lose input. */
function say(phase: HTMLElement, news: string): void {
  if ((phase.dataset.said ?? '') === news) return
  phase.dataset.said = news
  const link = document.createElement('a')
  link.href = location.pathname
  link.textContent = 'Reload the page'
  phase.replaceChildren(...(news ? [`${news} `, link] : []))
}

/** Whether somebody fills in a form: a field has the focus or another value than at first, or a question is open. */
function isFillingIn(): boolean {
  const at = document.activeElement
  if (at?.matches('input, select, textarea') || document.querySelector('details.confirm[open]')) return true
  return [...document.forms].some((form) => [...form.elements].some(hasChanged))
}

function hasChanged(field: Element): boolean {
  if (field instanceof HTMLSelectElement) {
    const options = [...field.options]
    const first = options.find(({ defaultSelected }) => defaultSelected) ?? options[0]
    return field.value !== (first?.value ?? '')
  }
  if (field instanceof HTMLInputElement)
    return field.value !== field.defaultValue || field.checked !== field.defaultChecked
  return field instanceof HTMLTextAreaElement && field.value !== field.defaultValue
}

/** Whether the browser has begun to load another page. Loading this one again would cancel a form that is on its way. */
let isLeaving = false

function leave(): void {
  isLeaving = true
  // The address may have been that of a file, which leaves the page as it is.
  setTimeout(stay, STILL_HERE_MS)
}

function stay(): void {
  isLeaving = false
}

let waiting: ReturnType<typeof setTimeout>

async function follow(): Promise<void> {
  clearTimeout(waiting)
  if (!document.hidden && !isLeaving) await refresh().catch(() => {})
  clearTimeout(waiting)
  waiting = setTimeout(follow, EVERY_MS)
}

addEventListener('beforeunload', leave)
addEventListener('pageshow', stay)
enterLocalTimes()
beginCountdowns(document)
setInterval(countDown, 1000)
waiting = setTimeout(follow, EVERY_MS)
// The shell's script follows the stream of changes.
const changes = document.querySelector('[data-events="/live/jam"]')
if (changes) new MutationObserver(follow).observe(changes, { childList: true, characterData: true, subtree: true })
