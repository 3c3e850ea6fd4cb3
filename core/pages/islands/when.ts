/** Turns instants that the server wrote in UTC into the reader's own time zone; the exact one stays in the title. */
export function localiseTimes(): void {
  const { lang } = document.documentElement
  const whole = new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeStyle: 'short' })
  const day = new Intl.DateTimeFormat(lang, { dateStyle: 'medium' })
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-when]')) {
    const instant = new Date(time.dateTime)
    time.title = time.dataset.when === 'day' ? whole.format(instant) : time.dateTime
    time.textContent = (time.dataset.when === 'day' ? day : whole).format(instant)
  }
}
