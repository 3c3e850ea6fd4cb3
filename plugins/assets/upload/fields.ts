import { Ajv } from 'ajv'
import type { FastifySchemaValidationError } from 'fastify'
import { type ErrorDetail, InvalidRequest } from '../../../core/errors.ts'
import { sentenceOf, validationDetails } from '../../../core/http/forms/validation-messages.ts'
import { tagsIn } from '../../../core/tags.ts'
import { UploadFields } from '../schemas.ts'

let check: ReturnType<Ajv['compile']> | undefined

/**
 * Checks the text fields of an upload form. Tags are one text, separated by commas or spaces, or several fields. An
 * empty field counts as missing.
 *
 * @throws InvalidRequest naming the field
 */
export function fieldsOf(texts: ReadonlyMap<string, readonly string[]>): UploadFields {
  const fields: Record<string, unknown> = {}
  for (const [name, values] of texts) {
    const filled = values.map((value) => value.trim()).filter((value) => value !== '')
    if (filled.length === 0) continue
    if (name === 'tags') fields.tags = tagsIn(filled.join(' '))
    else if (filled.length > 1) throw new InvalidRequest(`The form has the field ${name} twice.`)
    else fields[name] = filled[0]
  }
  check ??= new Ajv({ allErrors: true, verbose: true, strict: false }).compile(UploadFields)
  if (check(fields)) return fields
  const validation = check.errors as FastifySchemaValidationError[]
  const details = validationDetails({ validation })
  const [first] = details as [ErrorDetail]
  const error = new InvalidRequest(`The form is not valid: ${sentenceOf(first)}`).with({ details })
  // A page describes the faults in its own words.
  throw Object.assign(error, { validation })
}
