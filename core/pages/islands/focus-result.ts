/**
 * Gives the focus to the result of the last action once, so that screen readers say it and the keyboard continues there.
 * A page that was reloaded, or comes from the history, keeps its focus.
 */
export function focusResult(): void {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  const result = document.querySelector<HTMLElement>('.flash, [data-result]')
  const isTaken = document.querySelector('[autofocus]') || document.activeElement !== document.body
  if (!result || isTaken || navigation?.type !== 'navigate') return
  result.tabIndex = -1
  result.focus({ preventScroll: result.matches('.flash') })
}
