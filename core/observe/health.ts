import type { FastifyInstance } from 'fastify'

type Check = () => Promise<unknown>

/** The result of one check, for the operator. */
export interface HealthDetail {
  name: string
  ok: boolean
  /** The reason for a failure. It may name hosts, but never a password. */
  reason: string | null
  /** Duration of the check in ms; null for a note. */
  took: number | null
  /** Whether the platform is not ready without it. */
  vital: boolean
}

/** The state of background work. The operator sees it; it does not affect readiness. */
export interface HealthNote {
  state: 'ok' | 'warning'
  /** One sentence for the operator. */
  message: string
  at: Date
}

/** Checks that the dependencies of the platform are reachable. Plugins and drivers add their checks by name. */
export class Health {
  readonly #checks = new Map<string, { check: Check; vital: boolean }>()
  /** Notes by name, such as `backup`. The component that does the work sets its own. */
  readonly notes = new Map<string, HealthNote>()
  /** Set before the process stops, so that load balancers stop sending requests. */
  draining = false

  /**
   * @param check resolves when the part is healthy; it has 2 seconds
   * @param vital false when the platform is ready without this part
   */
  add(name: string, check: Check, { vital = true } = {}): void {
    this.#checks.set(name, { check, vital })
  }

  /** Runs every check concurrently. Returns `ok` or the reason for each. */
  async run(): Promise<{ ready: boolean; checks: Record<string, string> }> {
    const results = await Promise.all(
      [...this.#checks]
        .filter(([, { vital }]) => vital)
        .map(async ([name, { check }]) => [name, await outcome(check)] as const),
    )
    const checks = Object.fromEntries(results.map(([name, { word }]) => [name, word]))
    return { ready: !this.draining && results.every(([, { word }]) => word === 'ok'), checks }
  }

  /** Like `run`, with the reasons, the checks that are not vital, and the notes; for administrators only. */
  async details(): Promise<HealthDetail[]> {
    const noted = [...this.notes].map(([name, { state, message }]) => {
      const ok = state === 'ok'
      return { name, vital: false, ok, reason: ok ? null : message, took: null }
    })
    const checked = await Promise.all(
      [...this.#checks].map(async ([name, { check, vital }]) => {
        const began = performance.now()
        const { word, reason } = await outcome(check)
        return { name, vital, ok: word === 'ok', reason, took: Math.round(performance.now() - began) }
      }),
    )
    return [...checked, ...noted]
  }
}

async function outcome(check: Check): Promise<{ word: string; reason: string | null }> {
  const late = AbortSignal.timeout(2000)
  try {
    await Promise.race([check(), new Promise((_, reject) => late.addEventListener('abort', () => reject(late.reason)))])
    return { word: 'ok', reason: null }
  } catch (error) {
    // The public response has only the word, because the reason may name hosts.
    if (late.aborted) return { word: 'timed out', reason: 'It did not answer within 2 seconds.' }
    return { word: 'failed', reason: reasonOf(error) }
  }
}

/** Returns the message of an error, without the credentials of URLs in it. */
function reasonOf(error: unknown): string {
  const { message = '', code } = error as { message?: string; code?: string }
  return (message || code || String(error)).replace(/(:\/\/)[^/?#\s@]+@/g, '$1********@').slice(0, 500)
}

/** `/healthz` reports that the process answers, `/readyz` that its dependencies do. Both answer on any Host. */
export function registerHealth(app: FastifyInstance, health: Health): void {
  const options = {
    config: { auth: 'none', quiet: true },
    constraints: { origin: 'any' },
    schema: { hide: true },
  } as const
  app.get('/healthz', options, async () => ({ status: 'ok' }))
  app.get('/readyz', options, async (_request, reply) => {
    const { ready, checks } = await health.run()
    reply.code(ready ? 200 : 503).header('cache-control', 'no-store')
    const status = health.draining ? 'draining' : ready ? 'ready' : 'unavailable'
    // The sentences are for the operator only, because they may name folders and machines.
    const details = Object.fromEntries([...health.notes].map(([name, { state }]) => [name, state]))
    return { status, checks, ...(health.notes.size > 0 ? { details } : {}) }
  })
}
