import { isPlatformError, type PlatformError } from '../../core/errors.ts'

/** What a form shows after it was refused: a sentence for the whole, or one for a field. */
export interface FormTrouble {
  status: number
  message: string | undefined
  fields: Record<string, string>
  /** Of the answer: `Retry-After`. */
  headers: Record<string, string>
}

/**
 * Turns a refusal into what the form shows beside its fields; anything that is not the person's to mend is thrown on.
 */
export function troubleOf(error: unknown): FormTrouble {
  if (!isPlatformError(error) || error.statusCode >= 500) throw error
  const fields = Object.fromEntries((error.details ?? []).map(({ path }) => [path, sentence(error)]))
  const message = Object.keys(fields).length > 0 ? undefined : error.message
  return { status: error.statusCode, message, fields, headers: error.headers ?? {} }
}

const sentence = (error: PlatformError): string => error.message
