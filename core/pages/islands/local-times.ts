/** Turns instants that the server wrote in UTC into the reader's own time zone; the exact one stays in the title. */
export function localizeTimes(): void {
  const { lang } = document.documentElement
  const whole = new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeStyle: 'short' })
  const day = new Intl.DateTimeFormat(lang, { dateStyle: 'medium' })
  const times = [...document.querySelectorAll<HTMLTimeElement>('time[data-when]')]
  // They keep the room that they had, so that nothing around them moves; all are measured before one is changed.
  const widths = times.map((time) => time.offsetWidth)
  for (const [index, time] of times.entries()) {
    time.style.minWidth = `${widths[index]}px`
    const instant = new Date(time.dateTime)
    time.title = time.dataset.when === 'day' ? whole.format(instant) : time.dateTime
    // Where a line must end within it, it ends between day and hour.
    const text = (time.dataset.when === 'day' ? day : whole).format(instant)
    time.textContent = text.replace(/\s(?=[AP]M$)/, '\u00a0')
  }
}
