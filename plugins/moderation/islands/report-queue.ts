/** The time within which a second key belongs to `g`, as in core/pages/islands/keyboard-shortcuts.ts. */
const SEQUENCE_MS = 3000
let wentAt = Number.NEGATIVE_INFINITY

/** Keyboard shortcuts of the queue of reports: a key presses the link or button that shows it. */
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return
  const { target } = event
  if (target instanceof HTMLElement && target.closest('input, textarea, select, dialog, [contenteditable]')) return
  // After `g` a key belongs to the navigation.
  const went = event.timeStamp - wentAt < SEQUENCE_MS
  wentAt = event.key === 'g' && !went ? event.timeStamp : Number.NEGATIVE_INFINITY
  if (went || !/^[a-z]$/.test(event.key)) return
  const element = document.querySelector<HTMLElement>(`[data-key="${event.key}"]`)
  if (!element) return
  event.preventDefault()
  element.click()
})
