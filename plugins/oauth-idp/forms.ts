import { isPlatformError } from '../../core/errors.ts'

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
  const details = error.details ?? []
  // One detail may be a few words for programs; the error itself is the sentence.
  const sentence = (detail: string) => (details.length > 1 ? detail : error.message)
  const fields = Object.fromEntries(details.map(({ path, message }) => [path, sentence(message)]))
  const message = Object.keys(fields).length > 0 ? undefined : error.message
  return { status: error.statusCode, message, fields, headers: error.headers ?? {} }
}
