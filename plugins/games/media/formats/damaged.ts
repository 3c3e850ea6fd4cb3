import { MediaRefused } from '../../errors.ts'

/** Refuses a file whose structure does not hold. @param what the first thing that is wrong */
export function damaged(what: string): never {
  throw new MediaRefused(`The file is damaged: ${what}.`)
}
