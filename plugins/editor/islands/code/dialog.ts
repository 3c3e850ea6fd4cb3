import { render } from 'preact'
import { type Content, html } from './html.ts'

interface Question {
  title: string
  /** The label of the text field; without one the dialog asks only for consent. */
  label?: string
  value?: string
  /** Shown above the field. */
  body?: Content
  /** The label of the button. */
  action: string
  danger?: boolean
}

/** Asks in a dialog. @returns the text, or the empty text for mere consent; null when it was closed */
export function ask({ title, label, value = '', body, action, danger = false }: Question): Promise<string | null> {
  const dialog = document.createElement('dialog')
  dialog.className = 'code-dialog'
  document.body.append(dialog)
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const done = (answer: string | null) => {
    dialog.close()
    dialog.remove()
    resolve(answer)
  }
  dialog.setAttribute('aria-label', title)
  dialog.addEventListener('cancel', () => done(null))
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    done(String(new FormData(event.target as HTMLFormElement).get('text') ?? ''))
  }
  render(
    html`<form class="form" onSubmit=${submit}>
      <h2>${title}</h2>
      ${body}
      ${label && html`<div class="field"><label for="code-dialog-text">${label}</label><input class="control" id="code-dialog-text" name="text" value=${value} autocomplete="off" maxlength="500" spellcheck=${false} /></div>`}
      <div class="form-actions">
        <button class=${`button ${danger ? 'danger' : 'act'}`} type="submit">${action}</button>
        <button class="button" type="button" onClick=${() => done(null)}>Cancel</button>
      </div>
    </form>`,
    dialog,
  )
  dialog.showModal()
  dialog.querySelector('input')?.select()
  return promise
}
