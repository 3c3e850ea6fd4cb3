/** Added to the refusal of a fault that an upload can have repaired. */
export const REPAIR = "The upload's option to repair small faults (repair=true) corrects that."

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
