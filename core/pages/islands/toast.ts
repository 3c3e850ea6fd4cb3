/** How long a message stays that nobody has to act on, in ms; one with a button stays longer. */
const SHOWN = 6000

let hiding = 0

/** Says over the page what has happened, where nothing moves for it; an error stays until it is taken away. */
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
  close.addEventListener('click', () => toast.replaceChildren())
  // In a moment: who listens hears only what comes into a place that is there already.
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
  return toast
}
