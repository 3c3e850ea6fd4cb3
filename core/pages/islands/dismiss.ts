/** Shows the dismiss buttons of notices, which also return the focus to the page. */
export function enableDismissal(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-dismiss]')) {
    button.hidden = false
    button.addEventListener('click', () => {
      button.closest('.notice')?.remove()
      document.getElementById('main')?.focus({ preventScroll: true })
    })
  }
}
