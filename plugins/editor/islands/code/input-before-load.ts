const FIELD = 'textarea.code-plain'

/** What was typed in the field that comes with the page, before the script of the page ran. */
export class InputBeforeLoad {
  /** The whole text; null when nothing was typed. */
  readonly typed: string | null = null
  readonly #cursor: { start: number; end: number; top: number; focused: boolean } | null = null

  /** @param place the element with the field */
  constructor(place: HTMLElement) {
    const field = place.querySelector<HTMLTextAreaElement>(FIELD)
    if (!field) return
    const { value, defaultValue, selectionStart: start, selectionEnd: end, scrollTop: top } = field
    if (value !== defaultValue) this.typed = value
    this.#cursor = { start, end, top, focused: document.activeElement === field }
  }

  /** Puts the cursor of the field that has taken its place where it was. */
  goOn(place: HTMLElement): void {
    const field = place.querySelector<HTMLTextAreaElement>(FIELD)
    if (!field || !this.#cursor?.focused) return
    field.focus({ preventScroll: true })
    field.setSelectionRange(this.#cursor.start, this.#cursor.end)
    field.scrollTop = this.#cursor.top
  }
}
