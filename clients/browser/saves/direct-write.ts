import type { Outcome, Server } from './server.ts'
import type { Entry } from './store.ts'
import { SaveError } from './types.ts'
import type { Change } from './write.ts'

/**
 * Saves on the server without a copy on this device, whose storage is full or blocked.
 *
 * @throws SaveError when the server does not take it either
 */
export async function setOnServer(
  server: Server,
  { account, key, value }: Pick<Entry, 'account' | 'key' | 'value'>,
  options: Pick<Change, 'base'>,
): Promise<Extract<Outcome, { kind: 'written' | 'gone' }>> {
  if (account === '')
    throw new SaveError(
      'storage_full',
      'The browser keeps nothing here (its storage is full or blocked), and nobody is signed in.',
    )
  const nobodyTakesIt = () =>
    new SaveError(
      'storage_full',
      'The browser keeps nothing here (its storage is full or blocked), and the server cannot be reached.',
    )
  const theirs =
    options.base === undefined
      ? await server.get(account, key, null).catch((error) => {
          throw error.code === 'offline' ? nobodyTakesIt() : error
        })
      : undefined
  const base = options.base ?? (typeof theirs === 'object' ? theirs.version : null)
  const outcome = value ? await server.put(account, key, value, base) : await server.delete(account, key, base)
  if (outcome.kind === 'written' || outcome.kind === 'gone') return outcome
  if (outcome.kind === 'refused') throw new SaveError(outcome.code, outcome.message)
  throw outcome.kind === 'conflict'
    ? new SaveError('save_conflict', 'The save has changed meanwhile.')
    : nobodyTakesIt()
}
