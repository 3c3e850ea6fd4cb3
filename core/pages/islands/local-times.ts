/**
 * Converts times from UTC to the reader's time zone; the `title` keeps the exact time.
 *
 * @param page default the shown one; a fetched one has no widths to keep
 */
export function localizeTimes(page: Document = document): void {
  const { lang } = document.documentElement
  const whole = new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeStyle: 'short' })
  const day = new Intl.DateTimeFormat(lang, { dateStyle: 'medium' })
  const times = [...page.querySelectorAll<HTMLTimeElement>('time[data-when]')]
  // Each element keeps its width, so that the layout does not shift. All widths are measured before the first change.
  const widths = times.map((time) => time.offsetWidth)
  for (const [index, time] of times.entries()) {
    if (page === document) time.style.minWidth = `${widths[index]}px`
    const instant = new Date(time.dateTime)
    time.title = time.dataset.when === 'day' ? whole.format(instant) : time.dateTime
    // A no-break space before AM and PM allows a line break only between day and time.
    const text = (time.dataset.when === 'day' ? day : whole).format(instant)
    time.textContent = text.replace(/\s(?=[AP]M$)/, '\u00a0')
  }
}
