/**
 * Forms whose outcome is predictable and reversible (`data-optimistic`): the page shows the new state when the form is
 * sent, and reverts with the reason when the server refuses. The page in the server's response is authoritative;
 * without this script the browser loads it.
 */
import { change } from './live-parts.ts'
import { showToast } from './toast.ts'

/** Sends requests about one subject in sequence, so that the last one wins. A refusal drops the waiting ones. */
interface Line {
  sent: Promise<void>
  /** Number of changes that are shown but not answered yet. */
  open: number
  refusals: number
}
const lines = new Map<string, Line>()

export function submitOptimistically(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target as HTMLFormElement
    const name = form.dataset.optimistic
    if (name === undefined || event.defaultPrevented) return
    event.preventDefault()
    const body = new URLSearchParams([...new FormData(form, event.submitter)] as [string, string][])
    const line = lines.get(name) ?? { sent: Promise.resolve(), open: 0, refusals: 0 }
    lines.set(name, line)
    const { refusals } = line
    const { action } = form
    line.open++
    turn(name)
    if (form.dataset.said) showToast(form.dataset.said)
    line.sent = line.sent.then(() =>
      line.refusals === refusals ? send(name, line, { form, action, body }) : undefined,
    )
  })
  // Changing a select element submits its form; the button remains for people who look for it.
  document.addEventListener('change', ({ target }) => {
    const form = (target as HTMLSelectElement).form
    if (form?.dataset.optimistic !== undefined && target instanceof HTMLSelectElement) form.requestSubmit()
  })
}

interface Sent {
  form: HTMLFormElement
  /** Read at submission, because the form may since have been removed from the page. */
  action: string
  body: URLSearchParams
}

async function send(name: string, line: Line, { form, action, body }: Sent): Promise<void> {
  let page: Document | null = null
  let why = 'The server could not be reached. Reload the page to see the current state.'
  try {
    const answer = await fetch(action, { method: 'POST', body })
    const answered = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (answered.querySelector('form[action="/sign-in"]')) return location.assign(answer.url)
    const refusal = answered.querySelector(
      '.flash .notice.error .notice-body, .form-errors .notice-body, .error-page .lede',
    )
    const gone = answer.status === 404 || answer.status === 410
    why = gone
      ? 'This no longer exists, so nothing was changed. Reload the page.'
      : refusal?.textContent?.trim() || 'The server refused. Nothing was changed.'
    if (answer.ok && !refusal) page = answered
  } catch {}
  if (!page) {
    if (line.open % 2) turn(name)
    line.open = 0
    line.refusals++
    form.reset()
    showToast(why, 'error')
    return
  }
  line.open--
  for (const option of form.querySelectorAll('option'))
    option.defaultSelected = body.get(option.parentElement?.getAttribute('name') ?? '') === option.value
  if (line.open > 0) return
  const fresh = partsOf(name, page)
  for (const [index, { part, other }] of partsOf(name).entries()) {
    const now = fresh[index]
    if (!now) continue
    change(part, now.part)
    other.replaceWith(now.other)
  }
  const flash = page.querySelector('.flash .notice-body > div')
  if (flash) showToast(flash)
}

/** Returns each part with the template of its other state. */
const partsOf = (name: string, page: Document = document) =>
  [...page.querySelectorAll<HTMLElement>('[data-once]')]
    .filter((part) => part.dataset.once === name)
    .map((part) => ({ part, other: part.nextElementSibling as HTMLTemplateElement }))

/** Swaps the content with the other state, and keeps the previous content for a reversal. */
function turn(name: string): void {
  for (const { part, other } of partsOf(name)) {
    const stoodHere = part.contains(document.activeElement)
    const shown = [...part.childNodes]
    part.replaceChildren(document.importNode(other.content, true))
    other.content.replaceChildren(...shown)
    if (stoodHere) part.querySelector<HTMLElement>('button, a')?.focus({ preventScroll: true })
  }
}
