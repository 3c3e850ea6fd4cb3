import { type Content, classes, html, type View } from './html.ts'
import { Icon } from './icons.ts'
import { Notice } from './messages.ts'

export interface ButtonProps {
  /** `act` is the one filled button of a view; `plain` the rest; `danger` destroys something; `quiet` is text only. */
  kind?: 'act' | 'plain' | 'danger' | 'quiet'
  /** With it the button is a link; without it a `<button>`. */
  href?: string | undefined
  /** Of a `<button>`; default `submit`. */
  type?: 'submit' | 'button'
  name?: string | undefined
  value?: string | undefined
  disabled?: boolean | undefined
  small?: boolean
  /** Name for screen readers, where the visible text is not enough ("Revoke" → "Revoke token laptop"). */
  label?: string | undefined
  /** `id` of the form that it submits, when it stands outside of it. */
  form?: string | undefined
  children?: Content
}

/** A link or button in the shape of a button. One `act` a view. */
export function Button(props: ButtonProps): View {
  const { kind = 'plain', href, type = 'submit', small, label, children, ...rest } = props
  const name = classes('button', kind !== 'plain' && kind, small && 'small')
  return href === undefined
    ? html`<button class=${name} type=${type} aria-label=${label} ...${rest}>${children}</button>`
    : html`<a class=${name} href=${href} aria-label=${label}>${children}</a>`
}

export interface FormProps {
  action: string
  /** Default `post`. A POST needs no token: the kernel refuses one that does not come from our own origin. */
  method?: 'post' | 'get'
  /** For file uploads: `multipart/form-data`. */
  multipart?: boolean
  id?: string | undefined
  /** The problem of the whole form; problems of a field belong to the field. */
  error?: Content
  /** Text of the button. Without it the children bring their own. */
  submit?: string | undefined
  /** Kind of that button; default `act`. */
  kind?: ButtonProps['kind']
  /** Elements beside that button: a second button, a link. */
  beside?: Content
  /** All on one line, for a single field and its button. */
  inline?: boolean
  /** Its outcome is certain and can be undone: the name of the `OptimisticToggle` parts that show it when it is sent. */
  optimistic?: string | undefined
  /** With `optimistic`: what is said then. */
  said?: string | undefined
  children?: Content
}

/** A form that works without a script: fields, then one line of buttons. */
export function Form(props: FormProps): View {
  const { action, method = 'post', multipart, id, error, submit, kind = 'act', beside, inline, children } = props
  const { optimistic, said } = props
  return html`
    <form class=${classes('form', inline && 'inline')} action=${action} method=${method} id=${id}
      enctype=${multipart ? 'multipart/form-data' : undefined} data-optimistic=${optimistic} data-said=${said}>
      ${error && html`<${Notice} tone="error">${error}<//>`}
      ${children}
      ${submit && html`<div class="form-actions"><${Button} kind=${kind}>${submit}<//>${beside}</div>`}
    </form>`
}

/** The properties of every kind of field. */
export interface FieldProps {
  label: string
  name: string
  /** Default `text`. `textarea` takes `rows`, `select` takes `options`. */
  type?: 'text' | 'email' | 'password' | 'url' | 'search' | 'number' | 'date' | 'file' | 'textarea' | 'select'
  value?: string | number | null | undefined
  /** The expected input, in a few words, below the label. */
  hint?: Content
  /** The problem of the input and how to correct it. Marks the field invalid. */
  error?: Content
  required?: boolean
  disabled?: boolean
  readonly?: boolean
  /** The token of the HTML standard: `email`, `current-password`, `new-password`, `one-time-code`, `off` … */
  autocomplete?: string | undefined
  autofocus?: boolean
  placeholder?: string | undefined
  minlength?: number | undefined
  maxlength?: number | undefined
  min?: number | string | undefined
  max?: number | string | undefined
  pattern?: string | undefined
  inputmode?: string | undefined
  accept?: string | undefined
  multiple?: boolean
  /** The input is code, an address or a key: monospace, no spelling check. */
  mono?: boolean
  rows?: number
  options?: { value: string; label: string }[]
  /** Needed only when two forms of a page use one field name. */
  id?: string | undefined
}

/** A labelled control with its hint and its error, tied together for screen readers. */
export function Field(props: FieldProps): View {
  const { label, hint, error, type = 'text', value, options, mono, id = `field-${props.name}`, ...rest } = props
  const hintId = hint ? `${id}-hint` : undefined
  const errorId = error ? `${id}-error` : undefined
  const shared = {
    ...rest,
    ...(mono ? { spellcheck: false, autocapitalize: 'off' } : {}),
    id,
    class: classes('control', mono && 'mono'),
    'aria-describedby': classes(errorId, hintId) || undefined,
    'aria-invalid': error ? 'true' : undefined,
  }
  return html`
    <div class=${classes('field', error && 'invalid')}>
      <label for=${id}>${label}${!rest.required && rest.required !== undefined && html`<span class="optional"> optional</span>`}</label>
      ${hint && html`<p class="hint" id=${hintId}>${hint}</p>`}
      ${
        type === 'textarea'
          ? html`<textarea ...${{ rows: 5, ...shared }}>${value ?? ''}</textarea>`
          : type === 'select'
            ? html`<span class="select"><select ...${shared}>${(options ?? []).map(
                (option) =>
                  html`<option value=${option.value} selected=${option.value === String(value ?? '')}>${option.label}</option>`,
              )}</select><${Icon} name="chevron" /></span>`
            : html`<input type=${type} value=${value ?? undefined} ...${shared} />`
      }
      ${error && html`<p class="field-error" id=${errorId}><${Icon} name="error" /><span>${error}</span></p>`}
    </div>`
}

export interface CheckboxProps {
  label: Content
  name: string
  value?: string
  checked?: boolean
  hint?: Content
  required?: boolean
  disabled?: boolean
  /** `radio` where just one of several may be chosen. */
  type?: 'checkbox' | 'radio'
  id?: string | undefined
}

/** A box to tick, with a line of explanation. */
export function Checkbox(props: CheckboxProps): View {
  const { label, hint, type = 'checkbox', value = 'on', ...rest } = props
  const id = props.id ?? `field-${props.name}-${value}`
  return html`
    <div class="checkbox">
      <input ...${rest} type=${type} value=${value} id=${id} aria-describedby=${hint ? `${id}-hint` : undefined} />
      <label for=${id}>${label}</label>
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    </div>`
}

export interface ChoicesProps {
  legend: string
  name: string
  options: { value: string; label: Content; hint?: Content; disabled?: boolean }[]
  /** The chosen value, or values when `multiple`. */
  value?: string | string[] | undefined
  /** Boxes to tick instead of one to choose. */
  multiple?: boolean
  hint?: Content
  error?: Content
}

/** One of several, or several of many, each with a line of explanation: scopes, visibility, expiry. */
export function Choices({ legend, name, options, value = [], multiple, hint, error }: ChoicesProps): View {
  const chosen = [value].flat()
  return html`
    <fieldset class=${classes('choices', error && 'invalid')}>
      <legend>${legend}</legend>
      ${hint && html`<p class="hint">${hint}</p>`}
      ${error && html`<p class="field-error"><${Icon} name="error" /><span>${error}</span></p>`}
      <div class="choice-list">
        ${options.map(
          (option) =>
            html`<${Checkbox} ...${option} name=${name} type=${multiple ? 'checkbox' : 'radio'} checked=${chosen.includes(option.value)} />`,
        )}
      </div>
    </fieldset>`
}

export interface SearchProps {
  /** Where it leads, as a GET. */
  action: string
  /** For screen readers and as placeholder: "Search 48 games". */
  label: string
  /** Default `q`. */
  name?: string
  value?: string | undefined
}

/** A search field with its own form. */
export const Search = ({ action, label, name = 'q', value }: SearchProps): View => html`
  <form class="search" role="search" action=${action} method="get">
    <${Icon} name="search" />
    <input type="search" name=${name} value=${value} aria-label=${label} placeholder=${label} enterkeyhint="search" />
  </form>`

export interface ConfirmProps {
  /** Text of the button that opens it: "Delete game". */
  label: string
  /** Where the confirming POST goes. */
  action: string
  /** Text of the confirming button; default the label. */
  submit?: string
  /** `danger`, the default, where something is destroyed; `plain` for what is only seldom needed. */
  kind?: 'danger' | 'plain'
  /** Open from the start: its form was refused. */
  open?: boolean
  /** The problem of the whole form. */
  error?: Content
  /** The consequences, and whether they can be undone; may contain fields. */
  children?: Content
}

/** A step behind a second, deliberate one; opens in place, without a script. */
export const Confirm = ({ label, action, submit = label, kind = 'danger', ...rest }: ConfirmProps): View => html`
  <details class="confirm" open=${rest.open}>
    <summary class=${classes('button', kind === 'danger' && kind)}>${label}</summary>
    <div class=${classes('confirm-body', kind)}>
      <${Form} action=${action} submit=${submit} kind=${kind} error=${rest.error}>${rest.children}<//>
    </div>
  </details>`
