/** Turns instants that the server wrote in UTC into the reader's own time zone; the exact one stays in the title. */
export function localiseTimes(): void {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'short' })
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-when]')) {
    time.title = time.dateTime
    time.textContent = format.format(new Date(time.dateTime))
  }
}
