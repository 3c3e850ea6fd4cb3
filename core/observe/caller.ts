import { AsyncLocalStorage } from 'node:async_hooks'

/** The player for whom a request makes changes. */
export interface Caller {
  playerId: string
  /** The role that the route requires of the player; null when it requires none. */
  role: 'moderator' | 'admin' | null
}

/** What a request may do ends with its response: work that goes on afterwards is the platform's own. */
interface Scope {
  caller: Caller | null
  isOver: boolean
}

/**
 * It is carried beside the calls so that no service can forget it. A caller was authenticated at the head of the
 * request, and the body may arrive minutes later.
 */
const current = new AsyncLocalStorage<Scope>()

/**
 * Runs work whose transactions check the caller first.
 *
 * @returns a function that ends this when the response has been sent; timers and loops that the work has started go on
 */
export function runForCaller(caller: Caller, work: () => void): () => void {
  const scope = { caller, isOver: false }
  current.run(scope, work)
  return () => {
    scope.isOver = true
  }
}

/** Runs work that does not depend on the caller, such as the work of several requests at once. */
export const runWithoutCaller = <Result>(work: () => Result): Result =>
  current.run({ caller: null, isOver: false }, work)

/** Returns the caller of the current request; null outside of one. */
export function currentCaller(): Caller | null {
  const scope = current.getStore()
  return scope && !scope.isOver ? scope.caller : null
}
