import { StartupError } from '../../errors.ts'

/** A move that can't go on. The message is one sentence, or two; the same command goes on where it stopped. */
export class MoveError extends StartupError {
  override name = 'MoveError'
}
