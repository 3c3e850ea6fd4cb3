import { html, inlineCode, type View } from '../pages/html.ts'
import { VISIBLE_PATTERN } from '../visible-text.ts'

/** The subset of JSON Schema (2020-12) that the routes use. */
export interface JsonSchema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  items?: JsonSchema
  description?: string
  default?: unknown
  example?: unknown
  examples?: unknown[]
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
}

/** Resolves a `$ref`. */
export type Resolve = (schema: JsonSchema) => JsonSchema

const deepest = 5

/** Renders the fields of a schema as a nested list: name, type, whether required, description, limits. */
export function Fields({
  schema,
  resolve,
  depth = 0,
}: {
  schema: JsonSchema
  resolve: Resolve
  depth?: number
}): View | null {
  const object = objectIn(schema, resolve)
  if (!object) return depth === 0 ? html`<p class="type-line"><code>${typeOf(schema, resolve)}</code></p>` : null
  const entries = Object.entries(object.properties ?? {})
  if (entries.length === 0) return null
  return html`
    <ul class="fields">
      ${entries.map(([name, field]) => {
        const known = resolve(field)
        return html`
          <li>
            <${FieldLine} name=${name} schema=${known} resolve=${resolve} required=${object.required?.includes(name)} />
            ${depth < deepest && html`<${Fields} schema=${known} resolve=${resolve} depth=${depth + 1} />`}
          </li>`
      })}
    </ul>`
}

export interface FieldLineProps {
  name: string
  schema: JsonSchema
  resolve: Resolve
  required?: boolean | undefined
  /** The location of a parameter: path, query, header. */
  place?: string
  description?: string | undefined
}

/** Renders one field or parameter. */
export const FieldLine = ({
  name,
  schema,
  resolve,
  required,
  place,
  description = schema.description,
}: FieldLineProps): View => html`
  <div class="field-line">
    <code class="field-name">${name}</code><code class="field-type">${typeOf(schema, resolve)}</code>
    ${place && html`<span class="field-mark">${place}</span>`}
    ${required && html`<span class="field-mark required">required</span>`}
    ${limitsOf(schema).map((limit) => html`<span class="field-mark">${limit}</span>`)}
  </div>
  ${description && html`<p class="field-text">${inlineCode(description)}</p>`}`

/**
 * Returns the object whose fields are listed: the schema itself, the items of a list, or the only object of a union.
 */
function objectIn(schema: JsonSchema, resolve: Resolve, depth = 0): JsonSchema | null {
  if (depth > deepest) return null
  const known = resolve(schema)
  if (known.properties) return known
  if (known.items) return objectIn(known.items, resolve, depth + 1)
  if (known.allOf) {
    const parts = known.allOf.map((part) => objectIn(part, resolve, depth + 1)).filter((part) => part !== null)
    return {
      properties: Object.assign({}, ...parts.map((part) => part.properties)),
      required: parts.flatMap((part) => part.required ?? []),
    }
  }
  const choices = (known.anyOf ?? known.oneOf ?? []).map((choice) => objectIn(choice, resolve, depth + 1))
  return choices.find((choice) => choice !== null) ?? null
}

/** Formats a type in TypeScript notation: `string`, `"a" | "b"`, `object[]`, `number | null`. */
export function typeOf(schema: JsonSchema, resolve: Resolve, depth = 0): string {
  if (depth > deepest) return 'any'
  const known = resolve(schema)
  if (known.const !== undefined) return JSON.stringify(known.const)
  if (known.enum) return known.enum.map((value) => JSON.stringify(value)).join(' | ')
  const choices = known.anyOf ?? known.oneOf
  if (choices) return [...new Set(choices.map((choice) => typeOf(choice, resolve, depth + 1)))].join(' | ')
  if (known.type === 'array' || known.items) {
    const item = known.items ? typeOf(known.items, resolve, depth + 1) : 'any'
    return item.includes(' ') ? `(${item})[]` : `${item}[]`
  }
  if (known.properties || known.allOf) return 'object'
  if (known.format === 'binary') return 'bytes'
  return known.type ? [known.type].flat().join(' | ') : 'any'
}

function limitsOf(schema: JsonSchema): string[] {
  const { format, minLength, maxLength, minimum, maximum, minItems, maxItems, pattern } = schema
  const range = (low: number | undefined, high: number | undefined, unit: string) => {
    if (low === undefined && high === undefined) return []
    if (low === undefined) return [`at most ${high}${unit}`]
    return [high === undefined ? `at least ${low}${unit}` : `${low} to ${high}${unit}`]
  }
  return [
    ...(format && format !== 'binary' ? [format] : []),
    ...range(minLength, maxLength, ' characters'),
    ...range(minimum, maximum, ''),
    ...range(minItems, maxItems, ' items'),
    ...(pattern ? [pattern === VISIBLE_PATTERN ? 'has a visible character' : `matches ${pattern}`] : []),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ]
}

/** Returns an example value of a schema: the schema's own example, otherwise a simple value of its type. */
export function exampleOf(schema: JsonSchema, resolve: Resolve, name = 'value', depth = 0): unknown {
  const known = resolve(schema)
  const offered = known.example ?? known.examples?.[0] ?? known.const ?? known.default ?? known.enum?.[0]
  if (offered !== undefined) return offered
  const first = known.anyOf?.[0] ?? known.oneOf?.[0]
  if (first) return depth > deepest ? null : exampleOf(first, resolve, name, depth + 1)
  if (known.properties || known.allOf) {
    const object = objectIn(known, resolve) ?? {}
    const fields = Object.entries(object.properties ?? {})
    const wanted = fields.filter(([field]) => object.required?.includes(field))
    const shown = depth > 3 ? [] : wanted.length > 0 ? wanted : fields.slice(0, 2)
    return Object.fromEntries(shown.map(([field, inner]) => [field, exampleOf(inner, resolve, field, depth + 1)]))
  }
  const type = [known.type].flat()[0]
  if (type === 'array') return known.items && depth < 4 ? [exampleOf(known.items, resolve, name, depth + 1)] : []
  if (type === 'integer' || type === 'number') return known.minimum ?? 1
  if (type === 'boolean') return true
  if (type === 'object') return {}
  if (type === 'null') return null
  if (known.format === 'binary') return '@FILE'
  return known.format === 'email' ? 'ada@example.com' : known.format === 'uri' ? 'https://example.com/' : `<${name}>`
}
