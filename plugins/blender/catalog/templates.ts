import { Ajv, type ValidateFunction } from 'ajv'
import type { FastifySchemaValidationError } from 'fastify'
import { type ErrorDetail, InvalidRequest } from '../../../core/errors.ts'
import { sentenceOf, validationDetails } from '../../../core/http/forms/validation-messages.ts'
import type { Template } from '../schemas.ts'
import { harnessRecords } from '../worker/harness-files.ts'

/** The maximum size of the parameters of a job without a template, and of the template's own: JSON characters. */
const MOST_CHARACTERS = 16_384

/** The scenes with which jobs begin. Each is a record and a Python module in harness/templates. */
export class Templates {
  readonly #ajv = new Ajv({ allErrors: true, verbose: true, useDefaults: true, strict: false, validateFormats: false })
  #all: Map<string, Template> | null = null
  readonly #validators = new Map<string, ValidateFunction>()

  list(): Template[] {
    return [...this.#load().values()]
  }

  find(id: string): Template | null {
    return this.#load().get(id) ?? null
  }

  /**
   * Fills in a template's parameters with its defaults.
   *
   * @throws InvalidRequest naming the parameter
   */
  complete(template: Template, given: Record<string, unknown>): Record<string, unknown> {
    const parameters = structuredClone(given)
    const validate = this.#validators.get(template.id) ?? this.#ajv.compile(template.parameters)
    this.#validators.set(template.id, validate)
    if (validate(parameters)) return parameters
    const faults = validationDetails({ validation: validate.errors as FastifySchemaValidationError[] })
    const details = faults.map(({ path, message }) => ({ path: `parameters.${path}`, message }))
    throw new InvalidRequest(sentenceOf(details[0] as ErrorDetail)).with({ details })
  }

  #load(): Map<string, Template> {
    this.#all ??= new Map(
      harnessRecords<Omit<Template, 'preview'>>('templates').map((record) => [record.id, { ...record, preview: null }]),
    )
    return this.#all
  }
}

/** Limits the size of free parameters. @throws InvalidRequest */
export function assertSize(parameters: Record<string, unknown>): void {
  if (JSON.stringify(parameters).length > MOST_CHARACTERS)
    throw new InvalidRequest(`parameters are more than ${MOST_CHARACTERS} characters.`)
}
