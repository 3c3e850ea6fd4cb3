/** On a narrow screen a line of navigation scrolls; this brings into view where one is. */
export function scrollToCurrent(): void {
  for (const here of document.querySelectorAll<HTMLElement>('nav [aria-current]')) {
    const line = here.closest('nav')
    if (!line || line.scrollWidth <= line.clientWidth) continue
    line.scrollLeft = here.offsetLeft - (line.clientWidth - here.offsetWidth) / 2
  }
}
