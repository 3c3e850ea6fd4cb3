import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { StartupError } from '../core/errors.ts'

/**
 * Reads a password from the terminal, twice and without echo, or else from the first line of standard input.
 *
 * @throws StartupError when there is no password, or the two differ
 */
export async function readPassword(): Promise<string> {
  if (!process.stdin.isTTY) {
    for await (const line of createInterface({ input: process.stdin })) return line
    throw new StartupError('There is no password on standard input.')
  }
  const password = await ask('Password: ')
  if ((await ask('Again: ')) !== password) throw new StartupError('The two passwords differ; nothing was changed.')
  return password
}

/** Asks without echo. readline writes typed characters to its output stream, which discards them here. */
function ask(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true })
  process.stderr.write(question)
  return new Promise((resolve, reject) => {
    terminal.once('SIGINT', () => {
      terminal.close()
      reject(new StartupError('Nothing was changed.'))
    })
    terminal.question('', (answer) => {
      terminal.close()
      process.stderr.write('\n')
      resolve(answer)
    })
  })
}
