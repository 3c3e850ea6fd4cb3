import { readFile } from 'node:fs/promises'
import { fileReason, usageError } from './errors.ts'

/** Reads the text of a file, or of standard input for `-`. */
export async function readInput(file: string, input: AsyncIterable<Buffer> = process.stdin): Promise<string> {
  if (file !== '-') {
    const text = await readFile(file, 'utf8').catch((error) => {
      throw usageError(`${file} can't be read: ${fileReason(error)}.`)
    })
    return withoutBom(text)
  }
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(chunk)
  // As a whole, since a chunk may end inside a character.
  return withoutBom(Buffer.concat(chunks).toString())
}

/** Removes the byte order mark that editors and shells of Windows write before a text. */
export const withoutBom = (text: string): string => text.replace(/^\uFEFF/, '')

/** Reads the JSON of a file. */
export async function readJson(file: string): Promise<unknown> {
  const text = await readInput(file)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw usageError(`${file} is not JSON: ${(error as Error).message}`)
  }
}

/** Parses pairs such as `height=2.5`. A value is JSON if it parses as JSON, else text. */
export function readPairs(pairs: string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) throw usageError(`${pair} is not of the form name=value.`, 'For instance: --param height=2.5')
    const text = pair.slice(at + 1)
    try {
      values[pair.slice(0, at)] = JSON.parse(text)
    } catch {
      values[pair.slice(0, at)] = text
    }
  }
  return values
}
