/** Windows below this height, such as those of phones on their side, give all of it to the game and its bar. */
const LOW = matchMedia('(max-height: 500px)')

/**
 * Gives the game the height that the window has below the bars, whose heights depend on the font and on the viewer. The
 * style sheet has their usual heights. In a low window the bar of the site is scrolled away.
 */
export function fitWindow(place: HTMLElement): void {
  const bar = place.previousElementSibling
  const fit = () => {
    const above = LOW.matches ? (bar?.getBoundingClientRect().height ?? 0) : place.getBoundingClientRect().top + scrollY
    place.style.setProperty('--above-game', `${Math.ceil(above)}px`)
  }
  fit()
  const changes = new ResizeObserver(fit)
  for (const element of document.querySelectorAll('body > header, .play-bar, .flash')) changes.observe(element)
  LOW.addEventListener('change', fit)
  if (LOW.matches && scrollY === 0 && bar) scrollTo({ top: bar.getBoundingClientRect().top, behavior: 'instant' })
}
