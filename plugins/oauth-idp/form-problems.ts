import { isPlatformError } from '../../core/errors.ts'

/** The errors of a refused form: one sentence for the whole form, or one for each field. */
export interface FormProblem {
  status: number
  message: string | undefined
  fields: Record<string, string>
  /** Response headers, such as `Retry-After`. */
  headers: Record<string, string>
}

/** Converts an error to the messages beside the form's fields. It rethrows errors that the user can't fix. */
export function formProblemOf(error: unknown): FormProblem {
  if (!isPlatformError(error) || error.statusCode >= 500) throw error
  const details = error.details ?? []
  // A single detail may be a short text for programs, so the message of the error is shown instead.
  const sentence = (detail: string) => (details.length > 1 ? detail : error.message)
  const fields = Object.fromEntries(details.map(({ path, message }) => [path, sentence(message)]))
  const message = Object.keys(fields).length > 0 ? undefined : error.message
  return { status: error.statusCode, message, fields, headers: error.headers ?? {} }
}
