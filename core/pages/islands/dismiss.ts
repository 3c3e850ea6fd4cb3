/** Shows the buttons that take a notice away, and gives the focus back to the page. */
export function enableDismissal(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-dismiss]')) {
    button.hidden = false
    button.addEventListener('click', () => {
      button.closest('.notice')?.remove()
      document.getElementById('main')?.focus({ preventScroll: true })
    })
  }
}
