import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * Reads the secret that `{ file: … }` or `{ env: … }` refers to.
 *
 * @param pointer the value in the configuration; the path of a file is relative to `configDir`
 * @param warn called when every user of the machine can read the file
 * @returns the text without its final line break
 * @throws Error with a sentence for the operator
 */
export function fetchSecret(
  pointer: Record<string, unknown>,
  { configDir, env, warn }: { configDir: string; env: Record<string, string | undefined>; warn(message: string): void },
): string {
  const [kind, ...rest] = Object.keys(pointer)
  const name = kind && pointer[kind]
  if (rest.length > 0 || (kind !== 'file' && kind !== 'env') || typeof name !== 'string')
    throw new Error('expected the secret itself, `{ file: /path/to/it }` or `{ env: NAME }`')
  return kind === 'env' ? fromEnvironment(name, env) : fromFile(resolve(configDir, name), warn)
}

function fromEnvironment(name: string, env: Record<string, string | undefined>): string {
  const text = env[name]
  if (!text) throw new Error(`the environment variable ${name} is ${text === '' ? 'empty' : 'not set'}`)
  return text
}

function fromFile(file: string, warn: (message: string) => void): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    const open = process.platform !== 'win32' && (statSync(file).mode & 0o004) !== 0
    // The certificates of authorities are public.
    if (open && !text.startsWith('-----BEGIN CERTIFICATE-----'))
      warn(`everyone on this machine can read ${file}; run: chmod o-r ${file}`)
  } catch (error) {
    throw new Error(`${file} can't be read (${REASONS[(error as NodeJS.ErrnoException).code ?? ''] ?? error})`)
  }
  if (text === '') throw new Error(`${file} is empty`)
  return text
}

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
}
