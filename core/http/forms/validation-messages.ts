import type { FastifySchemaValidationError } from 'fastify'
import type { ErrorDetail } from '../../errors.ts'
import { VISIBLE_PATTERN } from '../../visible-text.ts'

/** Maximum number of reported errors, at which validation stops. A body can have tens of thousands. */
export const MOST_ERRORS = 50
/** Maximum length of a reported path. No field has a longer name; the rest is the caller's own text. */
const LONGEST_PATH = 200

/** An error with what Ajv's option `verbose` adds: the value of the keyword, its schema, and the data. */
interface Issue extends FastifySchemaValidationError {
  schema?: unknown
  parentSchema?: { advice?: string }
  data?: unknown
}

/** A part of a union, as far as this file reads it. */
interface Member {
  const?: unknown
  type?: string | string[]
  anyOf?: Member[]
  properties?: Record<string, { const?: unknown }>
}

/**
 * Describes the errors of a failed validation, for programs and their authors: one for each field, with the field's name
 * in the request. A schema with a pattern has a sentence about its form, as `advice`.
 */
export function validationDetails({
  validation = [],
}: {
  validation?: readonly FastifySchemaValidationError[]
}): ErrorDetail[] {
  const best = new Map<string, { rank: number; message: string }>()
  for (const issue of withoutMembers(validation.slice(0, MOST_ERRORS))) {
    const path = issue.instancePath.slice(1).replaceAll('/', '.')
    const extra = issue.params.additionalProperty ?? issue.params.missingProperty
    const field = [path, extra].filter(Boolean).join('.').slice(0, LONGEST_PATH) || '(body)'
    const found = describe(issue)
    const known = best.get(field)
    if (!known || found.rank > known.rank) best.set(field, found)
  }
  return [...best].map(([path, { message }]) => ({ path, message }))
}

/** Returns a detail as the end of a sentence: `tags.0 must not be empty.` The advice of a schema is a sentence already. */
export const sentenceOf = ({ path, message }: ErrorDetail): string =>
  /^[A-Z]/.test(message) ? `${path}: ${message}` : `${path} ${message}.`

/** The most telling keyword of a field has the highest rank. */
function describe(issue: Issue): { rank: number; message: string } {
  const { keyword, params, parentSchema, schema } = issue
  const { limit } = params
  switch (keyword) {
    case 'required':
      return { rank: 4, message: 'is required' }
    case 'additionalProperties':
      return { rank: 4, message: 'is not a known field' }
    case 'type':
      return { rank: 4, message: `must be ${either([params.type].flat().map((type) => TYPES[String(type)] ?? type))}` }
    case 'enum':
      return { rank: 3, message: `must be one of ${(params.allowedValues as unknown[]).join(', ')}` }
    case 'const':
      return { rank: 3, message: `must be ${params.allowedValue}` }
    case 'anyOf':
    case 'oneOf':
      return { rank: 3, message: Array.isArray(schema) ? choiceOf(schema) : 'is not valid' }
    case 'minLength':
      return { rank: 2, message: limit === 1 ? 'must not be empty' : `must have at least ${limit} characters` }
    case 'maxLength':
      return { rank: 2, message: `must have at most ${limit} characters` }
    case 'minItems':
      return { rank: 2, message: limit === 1 ? 'must not be empty' : `must have at least ${limit} entries` }
    case 'maxItems':
      return { rank: 2, message: `must have at most ${limit} entries` }
    case 'uniqueItems':
      return { rank: 2, message: 'must not have the same entry twice' }
    case 'minimum':
      return { rank: 2, message: `must be at least ${limit}` }
    case 'maximum':
      return { rank: 2, message: `must be at most ${limit}` }
    case 'pattern':
      if (params.pattern === VISIBLE_PATTERN) return { rank: 1, message: 'must have a visible character' }
      return { rank: 1, message: parentSchema?.advice ?? 'does not have the form that its description asks for' }
    case 'format':
      return { rank: 1, message: `must be ${FORMATS[String(params.format)] ?? params.format}` }
    case 'minProperties':
      return { rank: 2, message: limit === 1 ? 'must have at least one field' : `must have at least ${limit} fields` }
    case 'maxProperties':
      return { rank: 2, message: `must have at most ${limit} fields` }
    default:
      return { rank: 0, message: 'is not valid' }
  }
}

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}
const FORMATS: Record<string, string> = {
  email: 'an email address',
  uri: 'a whole web address',
  date: 'a day, such as 2026-11-21',
  'date-time': 'a time, such as 2026-11-21T12:00:00.000Z',
}

const either = (names: readonly unknown[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

/** Describes a union by its members. */
function choiceOf(union: readonly Member[]): string {
  const members = union.flatMap(membersOf)
  const isConst = (member: Member) => 'const' in member
  if (members.every(isConst)) return `must be one of ${members.map((member) => member.const).join(', ')}`
  const names = members.flatMap((member) =>
    isConst(member) ? [member.const] : [member.type ?? []].flat().map((type) => TYPES[type] ?? type),
  )
  return names.length > 0 ? `must be ${either([...new Set(names)])}` : 'is not valid'
}

/** Returns the members of a union within a union, which count as its own. */
const membersOf = (member: Member): Member[] => member.anyOf?.flatMap(membersOf) ?? [member]

/**
 * Validation reports a union together with every error of each of its members. Of these, what is wrong with the member
 * that was meant stays, if the type of the value tells which it is. Otherwise only the union itself stays.
 */
function withoutMembers(issues: readonly Issue[]): Issue[] {
  const unions = issues.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  unions.sort((a, b) => b.schemaPath.length - a.schemaPath.length) // the inner ones first
  let left = [...issues]
  for (const union of unions) {
    const isWithin = (issue: Issue, path: string) =>
      issue.schemaPath.startsWith(`${path}/`) &&
      (issue.instancePath === union.instancePath || issue.instancePath.startsWith(`${union.instancePath}/`))
    const members = Array.isArray(union.schema) ? (union.schema as Member[]) : []
    const meant = members.flatMap((member, index) => (isMeant(member, union.data) ? [index] : []))
    const path = `${union.schemaPath}/${meant[0]}`
    const telling = meant.length === 1 ? left.filter((issue) => isWithin(issue, path)) : []
    left = left.filter(
      (issue) =>
        telling.includes(issue) || !(isWithin(issue, union.schemaPath) || (telling.length > 0 && issue === union)),
    )
  }
  return left
}

/** Whether a value has the type of a member, and for objects the constants of its fields, which tell members apart. */
function isMeant(member: Member, data: unknown): boolean {
  if ('const' in member || ![member.type ?? []].flat().some((type) => IS[type]?.(data))) return false
  return Object.entries(member.properties ?? {}).every(
    ([name, field]) => !('const' in field) || field.const === (data as Record<string, unknown>)[name],
  )
}

const IS: Record<string, (data: unknown) => boolean> = {
  string: (data) => typeof data === 'string',
  number: (data) => typeof data === 'number',
  integer: (data) => typeof data === 'number',
  boolean: (data) => typeof data === 'boolean',
  array: Array.isArray,
  object: (data) => typeof data === 'object' && data !== null && !Array.isArray(data),
  null: (data) => data === null,
}
