/**
 * The reason to refuse a model. The worker thread sends it as a message, which the receiver converts to InvalidModel.
 */
export class ModelRefusal extends Error {
  readonly details: { path: string; message: string }[]

  constructor(message: string, details: { path: string; message: string }[] = []) {
    super(message)
    this.details = details
  }
}
