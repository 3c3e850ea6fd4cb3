/** Describes an element by CSS or by its visible text. */
export type Query =
  | string
  | { label: string }
  | { button: string | RegExp }
  | { link: string | RegExp }
  | { text: string | RegExp; within?: string }

/** Returns an expression for all elements that match a query. */
export const findAll = (query: Query): string => `(${find})(${literal(query)})`

/** Returns an expression for the first match, or null. */
export const findFirst = (query: Query): string => `(${findAll(query)}[0] ?? null)`

/** Serializes a query as source text. */
export const literal = (query: Query): string => {
  if (typeof query === 'string') return JSON.stringify({ css: query })
  const fields = Object.entries(query).map(([name, value]) => {
    return `${JSON.stringify(name)}: ${value instanceof RegExp ? value : JSON.stringify(value)}`
  })
  return `{ ${fields.join(', ')} }`
}

interface Sought {
  css?: string
  label?: string
  button?: string | RegExp
  link?: string | RegExp
  text?: string | RegExp
  within?: string
}

/** Finds the elements. It runs in the page, so it uses only its argument. It searches open shadow trees too. */
function find({ css, label, button, link, text, within = 'body *' }: Sought): HTMLElement[] {
  type Root = Document | ShadowRoot
  const all = (selector: string, root: Root = document): HTMLElement[] => [
    ...root.querySelectorAll<HTMLElement>(selector),
    ...[...root.querySelectorAll('*')].flatMap(({ shadowRoot }) => (shadowRoot ? all(selector, shadowRoot) : [])),
  ]
  // biome-ignore lint/performance/useDomNodeTextContent: what a person reads, without what is hidden
  const written = (element: HTMLElement) => (element.innerText ?? '').replace(/\s+/g, ' ').trim()
  const nameOf = (element: HTMLElement) => element.ariaLabel ?? written(element)
  const seen = (element: HTMLElement) => element.checkVisibility({ visibilityProperty: true })
  const named = (selector: string, name: string | RegExp) =>
    all(selector)
      .filter(seen)
      .filter((one) => (typeof name === 'string' ? nameOf(one) === name : name.test(nameOf(one))))

  if (label !== undefined) {
    const controls = (labels: HTMLElement[]) => labels.map((one) => (one as HTMLLabelElement).control)
    const exactly = all('label').filter((one) => nameOf(one) === label)
    // The label of an optional field has a suffix.
    const beginning = all('label').filter((one) => nameOf(one).startsWith(`${label} `))
    const direct = all('input, select, textarea, [contenteditable]').filter(({ ariaLabel }) => ariaLabel === label)
    return [...controls(exactly), ...direct, ...controls(beginning)].filter((one) => one !== null)
  }
  if (button !== undefined)
    return named('button:not(:disabled), [role=button], input[type=submit]:not(:disabled), summary', button)
  if (link !== undefined) return named('a[href]', link)
  if (text !== undefined) {
    const found = all(within)
      .filter(seen)
      .filter((one) => (typeof text === 'string' ? written(one).includes(text) : text.test(written(one))))
    return found.filter((one) => !found.some((other) => other !== one && one.contains(other)))
  }
  return all(css ?? '')
}
