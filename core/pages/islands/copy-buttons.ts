import { announce } from './announce.ts'

/** Shows the copy buttons if the browser supports writing to the clipboard or at least selecting text. */
export function enableCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
    const source = button.parentElement?.querySelector('code')
    const label = button.querySelector('span')
    if (!source || !label) continue
    button.hidden = false
    button.addEventListener('click', async () => {
      const done = await copy(source)
      label.textContent = done ? 'Copied' : 'Selected'
      button.classList.toggle('done', done)
      announce(done ? 'Copied' : 'Selected. Copy it with your keyboard')
      setTimeout(() => {
        label.textContent = 'Copy'
        button.classList.remove('done')
      }, 2000)
    })
  }
}

/** Copies the text. The clipboard exists only in secure contexts; on a plain-http LAN the text is selected instead. */
async function copy(source: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(source.textContent ?? '')
    return true
  } catch {
    getSelection()?.selectAllChildren(source)
    return false
  }
}
