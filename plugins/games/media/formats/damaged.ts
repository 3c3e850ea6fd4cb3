import { MediaRefused } from '../../errors.ts'

/** Refuses a file with an invalid structure. @param what the first error */
export function damaged(what: string): never {
  throw new MediaRefused(`The file is damaged: ${what}.`)
}
