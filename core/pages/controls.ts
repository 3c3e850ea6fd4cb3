import { FormRefusals, type RefusedContent, useFieldRefusal, useRefusedContent } from './forms/refused-form.ts'
import { type Content, classes, html, type View } from './html.ts'
import { Icon } from './icons.ts'
import { Notice } from './messages.ts'

export interface ButtonProps {
  /**
   * `act` is the only filled button of a view; `plain` is for others; `danger` destroys something; `quiet` is text
   * only.
   */
  kind?: 'act' | 'plain' | 'danger' | 'quiet'
  /** Makes the button a link instead of a `<button>`. */
  href?: string | undefined
  /** Type of a `<button>`; default `submit`. */
  type?: 'submit' | 'button'
  name?: string | undefined
  value?: string | undefined
  disabled?: boolean | undefined
  small?: boolean
  /** Name for screen readers, where the visible text is insufficient ("Revoke" → "Revoke token laptop"). */
  label?: string | undefined
  /** `id` of the form to submit, for a button outside of it. */
  form?: string | undefined
  children?: Content
}

/** A link or button with the style of a button. A view has only one `act`. */
export function Button(props: ButtonProps): View {
  const { kind = 'plain', href, type = 'submit', small, label, children, ...rest } = props
  const name = classes('button', kind !== 'plain' && kind, small && 'small')
  return href === undefined
    ? html`<button class=${name} type=${type} aria-label=${label} ...${rest}>${children}</button>`
    : html`<a class=${name} href=${href} aria-label=${label}>${children}</a>`
}

export interface FormProps {
  action: string
  /** Default `post`. A POST needs no CSRF token, because the kernel refuses cross-origin requests. */
  method?: 'post' | 'get'
  /** Enables file uploads with `multipart/form-data`. */
  multipart?: boolean
  id?: string | undefined
  /** An error of the whole form; errors of a field belong to the field. */
  error?: Content
  /** Text of the submit button. Without it the children contain the button. */
  submit?: string | undefined
  /** The accessible name of the submit button, where several on a page have the same text. */
  submitLabel?: string | undefined
  /** Kind of the submit button; default `act`. */
  kind?: ButtonProps['kind']
  /** Elements next to the submit button: a second button, a link. */
  beside?: Content
  /** Puts everything on one line, for a single field and its button. */
  inline?: boolean
  /**
   * Name of the `OptimisticToggle` parts that show the result as soon as the form is sent. Its result must be
   * predictable and reversible.
   */
  optimistic?: string | undefined
  /** The message to show then, with `optimistic`. */
  said?: string | undefined
  children?: Content
}

/** A form that works without scripts: fields, then one line of buttons. */
export function Form(props: FormProps): View {
  const {
    action,
    method = 'post',
    multipart,
    id,
    error,
    submit,
    submitLabel,
    kind = 'act',
    beside,
    inline,
    children,
  } = props
  const { optimistic, said } = props
  const refused = useRefusedContent(action, error, children)
  return html`
    <form class=${classes('form', inline && 'inline')} action=${refused?.action ?? action} method=${method} id=${id}
      enctype=${multipart ? 'multipart/form-data' : undefined} data-optimistic=${optimistic} data-said=${said}>
      ${refused && faultSummary(refused)}
      ${refused ? html`<${FormRefusals} value=${refused.refusal}>${children}<//>` : children}
      ${submit && html`<div class="form-actions"><${Button} kind=${kind} label=${submitLabel}>${submit}<//>${beside}</div>`}
    </form>`
}

/** Says what is wrong with the whole form, and leads to the fields if several have an error. */
const faultSummary = ({ message, refusal: { faulty, focus } }: RefusedContent): Content =>
  (message || faulty.length > 1) &&
  html`<div class="form-errors" tabindex="-1" autofocus=${focus === ''}>
    <${Notice} tone="error">${message && html`<p>${message}</p>`}${
      faulty.length > 1 &&
      html`<p>${`${faulty.length} fields have an error:`}</p>
        <ul>${faulty.map(({ id, label, error }) => html`<li><a href=${`#${id}`}>${label}</a>: ${error}</li>`)}</ul>`
    }<//>
  </div>`

/** The common properties of fields. */
export interface FieldProps {
  label: string
  name: string
  /** Default `text`. `textarea` takes `rows`, `select` takes `options`. */
  type?:
    | 'text'
    | 'email'
    | 'password'
    | 'url'
    | 'search'
    | 'number'
    | 'date'
    | 'datetime-local'
    | 'file'
    | 'textarea'
    | 'select'
  value?: string | number | null | undefined
  /** The expected input in a few words, shown below the label. */
  hint?: Content
  /** The error of the input and how to correct it. Marks the field as invalid. */
  error?: Content
  required?: boolean
  disabled?: boolean
  readonly?: boolean
  /** A token of the HTML standard: `email`, `current-password`, `new-password`, `one-time-code`, `off` … */
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
  /** Whether the input is code, an address or a key: monospace, without a spelling check. */
  mono?: boolean
  rows?: number
  options?: { value: string; label: string }[]
  /** What a text field suggests, each with its meaning. Other texts may be typed as well. */
  suggestions?: readonly { value: string; label: string }[] | undefined
  /** Required only when two forms of a page use the same field name. */
  id?: string | undefined
}

/** A labelled control with its hint and its error, associated for screen readers. */
export function Field(props: FieldProps): View {
  const {
    label,
    hint,
    error: given,
    type = 'text',
    value: stored,
    options,
    suggestions,
    mono,
    id = `field-${props.name}`,
    ...rest
  } = props
  const { error, entered, focused = rest.autofocus } = useFieldRefusal({ name: rest.name, id, label, error: given })
  // A page never repeats a password.
  const value = (type === 'password' ? undefined : entered?.[0]) ?? stored
  const hintId = hint ? `${id}-hint` : undefined
  const errorId = error ? `${id}-error` : undefined
  const listId = suggestions ? `${id}-suggestions` : undefined
  const shared = {
    ...rest,
    list: listId,
    autofocus: focused,
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
      ${suggestions && html`<datalist id=${listId}>${suggestions.map(({ value, label }) => html`<option value=${value}>${label}</option>`)}</datalist>`}
      ${error && html`<${FieldError} id=${errorId ?? ''}>${error}<//>`}
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
  /** Use `radio` for a choice of exactly one. */
  type?: 'checkbox' | 'radio'
  id?: string | undefined
}

/** A checkbox with an explanation. */
export function Checkbox(props: CheckboxProps): View {
  const { name, label, value = 'on', disabled } = props
  const id = props.id ?? `field-${name}-${value}`
  const { entered, error, focused } = useFieldRefusal({ name, id, label, error: undefined })
  const checked = entered && !disabled ? entered.includes(value) : props.checked
  return html`<${Option} ...${props} id=${id} value=${value} checked=${checked} autofocus=${focused} error=${error} />`
}

interface OptionProps extends CheckboxProps {
  autofocus: boolean | undefined
  picture?: boolean | undefined
  error?: Content
  /** `id` of the description of the group. */
  describedBy?: string | undefined
}

function Option({ label, hint, type = 'checkbox', id, picture, error, describedBy, ...rest }: OptionProps): View {
  const described = classes(describedBy, error && `${id}-error`, hint && `${id}-hint`) || undefined
  return html`
    <div class=${classes(picture ? 'picture-choice' : 'checkbox', error && 'invalid')}>
      <input ...${rest} type=${type} id=${id} aria-describedby=${described} aria-invalid=${error ? 'true' : undefined} />
      <label for=${id}>${label}</label>
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
      ${error && html`<${FieldError} id=${`${id}-error`}>${error}<//>`}
    </div>`
}

const FieldError = ({ id, children }: { id: string; children?: Content }): View =>
  html`<p class="field-error" id=${id}><${Icon} name="error" /><span>${children}</span></p>`

export interface ChoicesProps {
  legend: string
  name: string
  options: { value: string; label: Content; hint?: Content; disabled?: boolean }[]
  /** The selected value, or the selected values with `multiple`. */
  value?: string | string[] | undefined
  /** Uses checkboxes instead of radio buttons. */
  multiple?: boolean
  /** Whether each label is a picture with a title below it. */
  pictures?: boolean
  /** Puts the options beside each other, where each is a word or two. */
  inline?: boolean
  hint?: Content
  error?: Content
}

/** A choice of one or several options, each with an explanation: scopes, visibility, expiry. */
export function Choices({
  legend,
  name,
  options,
  value = [],
  multiple,
  pictures,
  inline,
  hint,
  error: given,
}: ChoicesProps): View {
  const id = `field-${name}`
  const idOf = (option: { value: string }) => `${id}-${option.value}`
  const first = options[0] && idOf(options[0])
  const { error, entered, focused } = useFieldRefusal({ name, id: first ?? id, label: legend, error: given })
  const chosen = entered ?? [value].flat()
  const describedBy = classes(error && `${id}-error`, hint && `${id}-hint`) || undefined
  return html`
    <fieldset class=${classes(pictures ? 'picture-choices' : 'choices', inline && 'inline', error && 'invalid')} aria-describedby=${describedBy}>
      <legend>${legend}</legend>
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
      ${error && html`<${FieldError} id=${`${id}-error`}>${error}<//>`}
      <div class=${pictures ? undefined : 'choice-list'}>
        ${options.map(
          (option) =>
            html`<${Option} ...${option} id=${idOf(option)} name=${name} type=${multiple ? 'checkbox' : 'radio'} picture=${pictures} checked=${chosen.includes(option.value)}
              autofocus=${focused && idOf(option) === first} describedBy=${error ? `${id}-error` : undefined} />`,
        )}
      </div>
    </fieldset>`
}

export interface SearchProps {
  /** The address of the GET request. */
  action: string
  /** Label for screen readers and placeholder: "Search 48 games". */
  label: string
  /** Default `q`. */
  name?: string
  value?: string | undefined
  /** Other parameters of the list, which the search keeps. */
  kept?: readonly [name: string, value: string][]
}

/** A search field with its own form. */
export const Search = ({ action, label, name = 'q', value, kept = [] }: SearchProps): View => html`
  <form class="search" role="search" action=${action} method="get">
    ${kept.map(([other, text]) => html`<input type="hidden" name=${other} value=${text} />`)}
    <${Icon} name="search" />
    <input type="search" name=${name} value=${value} aria-label=${label} placeholder=${label} enterkeyhint="search" />
  </form>`

export interface ConfirmProps {
  /** Text of the button that opens the confirmation: "Delete game". */
  label: string
  /** Address of the confirming POST. */
  action: string
  /** The accessible name of that button, where several on a page have the same text: "Delete Pong". */
  name?: string
  small?: boolean
  /** Text of the confirming button; default the label. */
  submit?: string
  /** `danger`, the default, for a destructive action; `plain` for one that is only seldom needed. */
  kind?: 'danger' | 'plain'
  /** Opens it initially, because its form was refused. */
  open?: boolean
  /** An error of the whole form. */
  error?: Content
  /** The consequences, and whether they can be undone; may contain fields. */
  children?: Content
}

/** An action that needs a second, deliberate step. It opens in place, without a script. */
export function Confirm({ label, action, submit = label, kind = 'danger', ...rest }: ConfirmProps): View {
  const refused = useRefusedContent(action, rest.error, rest.children)
  return html`
    <details class="confirm" open=${rest.open || refused !== null}>
      <summary class=${classes('button', kind === 'danger' && kind, rest.small && 'small')} aria-label=${rest.name}>${label}</summary>
      <div class=${classes('confirm-body', kind)}>
        <${Form} action=${action} submit=${submit} submitLabel=${rest.name?.startsWith(submit) ? rest.name : undefined} kind=${kind} error=${rest.error}>${rest.children}<//>
      </div>
    </details>`
}

/** Turns the keyboard shortcuts of one letter on and off in this browser. Both need scripts, so it is hidden without. */
export const ShortcutSettings = (): View => html`
  <section class="section side" hidden data-shortcut-settings>
    <div class="section-head"><div><h2>Keyboard shortcuts</h2><p>The <kbd>?</kbd> key lists them.</p></div></div>
    <div class="section-body"><div class="card"><div class="checkbox">
      <input type="checkbox" id="shortcut-switch" checked data-shortcut-switch />
      <label for="shortcut-switch">Use shortcuts of one letter in this browser</label>
    </div></div></div>
  </section>`
