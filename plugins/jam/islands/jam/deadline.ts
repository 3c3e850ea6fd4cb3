/** The end of submissions: a countdown by the server's clock, and its input in the time zone of the device. */
import { localizeTimes } from '../../../../core/pages/islands/local-times.ts'
import { timeLeft } from '../../time-left.ts'

/** Begins the countdowns of a page that has just arrived, since it contains the time that is left. */
export function beginCountdowns(page: Document): void {
  localizeTimes(page)
  for (const part of page.querySelectorAll<HTMLElement>('[data-left]'))
    part.dataset.end = String(performance.now() + Number(part.dataset.left))
}

/** Counts down; called every second. */
export function countDown(): void {
  for (const part of document.querySelectorAll<HTMLElement>('[data-end]')) {
    const text = timeLeft(Number(part.dataset.end) - performance.now())
    if (part.textContent !== text) part.textContent = text
  }
}

/** Shows inputs in the time zone of the device. Their forms send UTC, as they do without this script. */
export function enterLocalTimes(): void {
  for (const field of document.querySelectorAll<HTMLInputElement>('input[type="datetime-local"]')) {
    field.defaultValue = localOf(field.value)
    field.form?.addEventListener('formdata', ({ formData }) => formData.set(field.name, utcOf(field.value)))
  }
  for (const zone of document.querySelectorAll('[data-zone]'))
    zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone
}

function localOf(utc: string): string {
  if (utc === '') return ''
  const at = new Date(`${utc}Z`)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const utcOf = (local: string): string => (local === '' ? '' : new Date(local).toISOString().slice(0, 16))
