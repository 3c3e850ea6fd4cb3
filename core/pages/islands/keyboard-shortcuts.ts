import { areShortcutsOff, enableShortcutSwitch, isTyping, SEQUENCE_MS } from './shortcut-keys.ts'

/**
 * Enables keyboard shortcuts: `/` searches, `g` and a letter navigate, `?` lists them all. Under a running game there are
 * none, since the game uses letters.
 */
export function enableKeyboardShortcuts(): void {
  enableShortcutSwitch(document)
  if (document.querySelector('.play')) return
  const places = new Map<string, HTMLAnchorElement>()
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-go]')) places.set(link.dataset.go ?? '', link)
  let going = Number.NEGATIVE_INFINITY
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || areShortcutsOff()) return
    if (event.timeStamp - going < SEQUENCE_MS) {
      going = Number.NEGATIVE_INFINITY
      const link = places.get(event.key)
      if (!link) return
      event.preventDefault()
      link.click()
    } else if (event.key === 'g') going = event.timeStamp
    else if (event.key === '?') show(places)
    else if (event.key === '/') {
      const search = document.querySelector<HTMLInputElement>('main input[type=search]')
      if (!search) return
      event.preventDefault()
      search.focus()
    }
  })
  const button = document.querySelector<HTMLButtonElement>('[data-keys]')
  if (!button) return
  button.hidden = false
  button.addEventListener('click', () => show(places))
}

let sheet: HTMLDialogElement | undefined

/** Shows the list of shortcuts, and creates it on first use. */
function show(places: ReadonlyMap<string, HTMLAnchorElement>): void {
  sheet?.remove()
  sheet = make(places)
  sheet.showModal()
}

function make(places: ReadonlyMap<string, HTMLAnchorElement>): HTMLDialogElement {
  const dialog = document.createElement('dialog')
  dialog.className = 'sheet'
  dialog.setAttribute('aria-labelledby', 'sheet-title')
  const title = document.createElement('h2')
  title.id = 'sheet-title'
  title.textContent = 'Keyboard shortcuts'
  const list = document.createElement('dl')
  const lines: [string[], string][] = [
    [['?'], 'This sheet'],
    [['/'], 'Search'],
    ...[...places].map(([key, link]): [string[], string] => [
      ['g', key],
      key === 'h' ? 'Start page' : (link.textContent?.trim() ?? ''),
    ]),
    [['Esc'], 'Close what is open'],
  ]
  for (const [keys, text] of lines) {
    const term = document.createElement('dt')
    for (const key of keys) {
      const shown = document.createElement('kbd')
      shown.textContent = key
      term.append(shown, ' ')
    }
    const meaning = document.createElement('dd')
    meaning.textContent = text
    const line = document.createElement('div')
    line.append(term, meaning)
    list.append(line)
  }
  const label = document.createElement('label')
  label.className = 'sheet-switch'
  const box = document.createElement('input')
  box.type = 'checkbox'
  box.dataset.shortcutSwitch = ''
  label.append(box, 'Use shortcuts of one letter in this browser')
  const form = document.createElement('form')
  form.method = 'dialog'
  const close = document.createElement('button')
  close.className = 'button'
  close.textContent = 'Close'
  form.append(close)
  dialog.append(title, list, label, form)
  enableShortcutSwitch(dialog)
  document.body.append(dialog)
  return dialog
}
