import type { FastifySchemaValidationError } from 'fastify'
import { VISIBLE_PATTERN } from '../../visible-text.ts'

/**
 * Describes what is wrong with the fields of a form, for the people who filled it in. A schema with a pattern may have
 * a sentence of its own, as `advice`.
 *
 * @returns a sentence for each field
 */
export function fieldErrors(issues: readonly FastifySchemaValidationError[]): Map<string, string> {
  const best = new Map<string, { rank: number; text: string }>()
  for (const issue of issues) {
    const missing = issue.keyword === 'required' ? String(issue.params.missingProperty) : undefined
    const name = issue.instancePath.split('/')[1] ?? missing ?? ''
    const found = describe(issue)
    const known = best.get(name)
    if (!known || found.rank > known.rank) best.set(name, found)
  }
  return new Map([...best].map(([name, { text }]) => [name, text]))
}

/** The most telling keyword of a field has the highest rank: a union reports each of its parts, then itself. */
function describe({ keyword, params, ...issue }: FastifySchemaValidationError): { rank: number; text: string } {
  const { parentSchema } = issue as { parentSchema?: { advice?: string } }
  if (parentSchema?.advice) return { rank: 3, text: parentSchema.advice }
  const { limit } = params
  switch (keyword) {
    case 'required':
      return { rank: 2, text: 'Fill in this field.' }
    case 'minLength':
      return { rank: 2, text: limit === 1 ? 'Fill in this field.' : `Use at least ${limit} characters.` }
    case 'maxLength':
      return { rank: 2, text: `Use at most ${limit} characters.` }
    case 'pattern':
      return params.pattern === VISIBLE_PATTERN
        ? { rank: 1, text: 'Use at least one visible character.' }
        : { rank: 1, text: 'Enter it in the form that the field describes.' }
    case 'format':
      return { rank: 1, text: FORMATS[String(params.format)] ?? 'Enter it in the form that the field describes.' }
    case 'minItems':
      return { rank: 2, text: limit === 1 ? 'Choose at least one.' : `Choose at least ${limit}.` }
    case 'maxItems':
      return { rank: 2, text: `Choose at most ${limit}.` }
    case 'minimum':
      return { rank: 1, text: `Enter a number of at least ${limit}.` }
    case 'maximum':
      return { rank: 1, text: `Enter a number of at most ${limit}.` }
    case 'type':
      return { rank: 0, text: 'Enter one value.' }
    default:
      return { rank: 0, text: 'Choose one of the offered values.' }
  }
}

const FORMATS: Record<string, string> = {
  email: 'Enter an email address, such as ada@example.org.',
  uri: 'Enter a whole web address, with https://.',
  date: 'Enter a day.',
}
