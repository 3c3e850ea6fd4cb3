/** Scrolls the current entry of a navigation bar into view; on narrow screens the bar scrolls. */
export function scrollToCurrent(): void {
  for (const here of document.querySelectorAll<HTMLElement>('nav [aria-current]')) {
    const line = here.closest('nav')
    if (!line || line.scrollWidth <= line.clientWidth) continue
    line.scrollLeft = here.offsetLeft - (line.clientWidth - here.offsetWidth) / 2
  }
}
