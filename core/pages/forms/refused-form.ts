import { createContext, type VNode } from 'preact'
import { useContext } from 'preact/hooks'
import { renderToString } from 'preact-render-to-string'
import { FORM_PAGE, type RefusedForm } from '../../http/forms/refused-forms.ts'
import { type Content, html } from '../html.ts'

/** A field with an error, in the order of the page. */
export interface FaultyField {
  /** `id` of the control. */
  id: string
  label: Content
  error: Content
}

/** The state of a form that the server refused. */
export interface FormRefusal {
  /** What was entered, by the name of the field; null where the route fills the form itself. */
  values: RefusedForm['values'] | null
  /** What is wrong, by the name of the field. */
  problems: RefusedForm['problems']
  /** Fields that are found to have an error add themselves. */
  faulty: FaultyField[]
  /** The names of the fields. */
  names: Set<string>
  /** `id` of the control that gets the focus; empty when the message above the fields gets it. */
  focus: string
}

/** A page that answers a refused form. */
export interface RefusalPage {
  /** The refused form, or undefined where the route renders the refusal itself. */
  form: RefusedForm | undefined
  /** Whether the page has the refused form. */
  found: boolean
  /** Whether hidden fields may differ, such as one that is new on each page. */
  loose: boolean
}

export const RefusalPages = createContext<RefusalPage | null>(null)
const Forms = createContext<FormRefusal | null>(null)
export const FormRefusals = Forms.Provider

export interface FieldRefusal {
  error: Content
  /** What was entered; undefined in a form that was not sent. */
  entered: readonly string[] | undefined
  /** Whether the field gets the focus; undefined where the page decides. */
  focused: boolean | undefined
}

/** Returns what a refused form says about one of its fields. @param error the error that the route has given */
export function useFieldRefusal({ name, id, label, error: given }: FaultyField & { name: string }): FieldRefusal {
  const form = useContext(Forms)
  if (!form) return { error: given, entered: undefined, focused: undefined }
  const error = given || form.problems.get(name)
  form.names.add(name)
  if (error) form.faulty.push({ id, label, error })
  return { error, entered: form.values ? (form.values.get(name) ?? []) : undefined, focused: form.focus === id }
}

export interface RefusedContent {
  refusal: FormRefusal
  /** Address of the POST, which keeps the page of the form in mind. */
  action: string
  /** What is wrong with the whole form. */
  message: Content
}

/**
 * Returns the refusal of a form on this page; null if the server did not refuse it. The form is recognised by its
 * address and its hidden fields, and by an error that the route has given to it or to a field.
 *
 * @param error the error of the whole form
 */
export function useRefusedContent(action: string, error: Content, children: Content): RefusedContent | null {
  const page = useContext(RefusalPages)
  if (!page) return null
  const own = page.form && isSent(page, page.form, { action, children }) ? page.form : null
  const refusal: FormRefusal = {
    values: own?.values ?? null,
    problems: own?.problems ?? new Map(),
    faulty: [],
    names: new Set(),
    focus: '',
  }
  render(children, refusal)
  const isUnplaced = [...refusal.problems.keys()].some((name) => !refusal.names.has(name))
  const message = error || own?.message || (isUnplaced && own?.fallback)
  if (!own && refusal.faulty.length === 0 && !message) return null
  page.found = true
  const focus = refusal.faulty[0]?.id ?? ''
  return { refusal: { ...refusal, focus }, action: own ? withPage(action, own.page) : action, message }
}

function isSent(
  { found, loose }: RefusalPage,
  form: RefusedForm,
  { action, children }: { action: string; children: Content },
): boolean {
  if (action.split('?', 1)[0] !== form.action) return false
  if (loose) return !found
  for (const [tag] of render(children, null).matchAll(/<input [^>]*type="hidden"[^>]*>/g)) {
    const [, name = ''] = / name="([^"]*)"/.exec(tag) ?? []
    const [, value = ''] = / value="([^"]*)"/.exec(tag) ?? []
    const sent = form.values.get(name)
    if (sent && !sent.some((text) => renderToString(html`${text}`) === value)) return false
  }
  return true
}

const render = (children: Content, refusal: FormRefusal | null): string =>
  renderToString(html`<${FormRefusals} value=${refusal}>${children}<//>` as VNode)

function withPage(action: string, page: string): string {
  const [path] = action.split('?', 1)
  return page === path ? action : `${action}${action.includes('?') ? '&' : '?'}${FORM_PAGE}=${encodeURIComponent(page)}`
}
