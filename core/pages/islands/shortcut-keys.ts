/** Timeout in ms for the second key of a sequence, such as `g` and a letter. */
export const SEQUENCE_MS = 3000

const OFF = 'gameyard.shortcuts-off'

/** Whether a key goes into a field, which may be in a shadow tree, such as the text editor of a game's files. */
export function isTyping(event: KeyboardEvent): boolean {
  const [inner] = event.composedPath()
  return inner instanceof HTMLElement && inner.closest('input, textarea, select, [contenteditable], dialog') !== null
}

/** Whether the player has turned off shortcuts of one letter in this browser (WCAG 2.1.4). */
export function areShortcutsOff(): boolean {
  try {
    return localStorage.getItem(OFF) !== null
  } catch {
    return false
  }
}

/** Shows the checkboxes that turn the shortcuts on and off, on the settings and in the list of shortcuts. */
export function enableShortcutSwitch(part: ParentNode): void {
  for (const box of part.querySelectorAll<HTMLInputElement>('[data-shortcut-switch]')) {
    const place = box.closest<HTMLElement>('[data-shortcut-settings]')
    if (place) place.hidden = false
    box.checked = !areShortcutsOff()
    box.addEventListener('change', () => {
      if (box.checked) localStorage.removeItem(OFF)
      else localStorage.setItem(OFF, '1')
    })
  }
}
