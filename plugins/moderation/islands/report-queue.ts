import { areShortcutsOff, isTyping, SEQUENCE_MS } from '../../../core/pages/islands/shortcut-keys.ts'

/** The time in ms in which a moderator sees a new case before a key decides it. */
const SETTLE_MS = 1000

let wentAt = Number.NEGATIVE_INFINITY
let taken = false
const shownAt = performance.now()

/**
 * Keyboard shortcuts of the queue of reports: a key presses the link or button that shows it. They act only while the
 * focus is on the case, so that a letter typed elsewhere decides nothing. A held key and a second press do not decide
 * the case that comes next.
 */
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return
  if (isTyping(event) || areShortcutsOff()) return
  // After `g` a key belongs to the navigation.
  const went = event.timeStamp - wentAt < SEQUENCE_MS
  wentAt = event.key === 'g' && !went ? event.timeStamp : Number.NEGATIVE_INFINITY
  if (went || !/^[a-z]$/.test(event.key)) return
  if (!(event.target as Element).closest('.queue-case')) return
  const element = document.querySelector<HTMLElement>(`main [data-key="${event.key}"]`)
  if (!element) return
  event.preventDefault()
  const isDecision = element.closest('.queue-decide') !== null
  if (isDecision && (taken || performance.now() - shownAt < SETTLE_MS)) return
  taken ||= isDecision
  element.click()
})
