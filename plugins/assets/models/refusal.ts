/** The reason to refuse a model: passes from the worker thread as a message, and becomes an InvalidModel there. */
export class ModelRefusal extends Error {
  readonly details: { path: string; message: string }[]

  constructor(message: string, details: { path: string; message: string }[] = []) {
    super(message)
    this.details = details
  }
}
