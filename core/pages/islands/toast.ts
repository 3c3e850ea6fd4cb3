/** Duration in ms of a message that needs no action; one with a button stays longer. */
const SHOWN = 6000

let hiding = 0
/** The element that had the focus before the toast, and gets it back. */
let cameFrom: HTMLElement | null = null

/**
 * Shows a message over the page for an action without another visible effect. An error stays until the user closes it.
 */
export function showToast(message: string | Element, tone: 'success' | 'error' = 'success'): void {
  const toast = document.querySelector<HTMLElement>('.toast') ?? make()
  const text = document.createElement('div')
  text.append(...(typeof message === 'string' ? [message] : document.importNode(message, true).childNodes))
  toast.className = `toast notice ${tone}`
  toast.setAttribute('role', tone === 'error' ? 'alert' : 'status')
  const close = document.createElement('button')
  close.className = 'button quiet small'
  close.type = 'button'
  close.textContent = 'Close'
  close.addEventListener('click', () => {
    toast.replaceChildren()
    const target = cameFrom?.isConnected ? cameFrom : document.getElementById('main')
    target?.focus({ preventScroll: true })
  })
  // The text is inserted later, because screen readers announce only changes of an existing element.
  requestAnimationFrame(() => toast.replaceChildren(text, close))
  clearTimeout(hiding)
  if (tone === 'error') return
  const hide = () => {
    if (toast.matches(':hover, :focus-within')) hiding = window.setTimeout(hide, SHOWN)
    else toast.replaceChildren()
  }
  hiding = window.setTimeout(hide, text.querySelector('button') ? 2 * SHOWN : SHOWN)
}

function make(): HTMLElement {
  const toast = document.createElement('div')
  document.getElementById('main')?.append(toast)
  toast.addEventListener('focusin', ({ relatedTarget }) => {
    if (relatedTarget instanceof HTMLElement && !toast.contains(relatedTarget)) cameFrom = relatedTarget
  })
  return toast
}
