import { isPlatformError } from '../../core/errors.ts'

/** The problems of a refused form: a sentence for the whole form, or one for a field. */
export interface FormProblem {
  status: number
  message: string | undefined
  fields: Record<string, string>
  /** Of the answer: `Retry-After`. */
  headers: Record<string, string>
}

/**
 * Turns a refusal into what the form shows beside its fields; anything that is not the person's to mend is thrown on.
 */
export function formProblemOf(error: unknown): FormProblem {
  if (!isPlatformError(error) || error.statusCode >= 500) throw error
  const details = error.details ?? []
  // One detail may be a few words for programs; the error itself is the sentence.
  const sentence = (detail: string) => (details.length > 1 ? detail : error.message)
  const fields = Object.fromEntries(details.map(({ path, message }) => [path, sentence(message)]))
  const message = Object.keys(fields).length > 0 ? undefined : error.message
  return { status: error.statusCode, message, fields, headers: error.headers ?? {} }
}
