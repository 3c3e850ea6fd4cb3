import type { FastifyInstance } from 'fastify'

type Check = () => Promise<unknown>

/** How one check came out, for whoever runs the server. */
export interface HealthDetail {
  name: string
  ok: boolean
  /** Why it is not well; may name hosts, never a password. */
  reason: string | null
  /** How long the check took, in ms; null where something that happened is told. */
  took: number | null
  /** Whether the platform counts as not ready without it. */
  vital: boolean
}

/** Something that goes on beside the requests, and whether it went well: shown to the host, never turning requests away. */
export interface HealthNote {
  state: 'ok' | 'warning'
  /** One sentence for the host of the platform. */
  message: string
  at: Date
}

/** Answers whether what the platform stands on is reachable; plugins and drivers add their checks by name. */
export class Health {
  readonly #checks = new Map<string, { check: Check; vital: boolean }>()
  /** By name, such as `backup`; whoever does the work sets its own. */
  readonly notes = new Map<string, HealthNote>()
  /** Set when the process is about to stop, so that load balancers turn away before it does. */
  draining = false

  /**
   * @param check resolves when the part is healthy; it has 2 seconds
   * @param vital false when the platform is ready without this part
   */
  add(name: string, check: Check, { vital = true } = {}): void {
    this.#checks.set(name, { check, vital })
  }

  /** Every check, run side by side: `ok`, or the reason. */
  async run(): Promise<{ ready: boolean; checks: Record<string, string> }> {
    const results = await Promise.all(
      [...this.#checks]
        .filter(([, { vital }]) => vital)
        .map(async ([name, { check }]) => [name, await outcome(check)] as const),
    )
    const checks = Object.fromEntries(results.map(([name, { word }]) => [name, word]))
    return { ready: !this.draining && results.every(([, { word }]) => word === 'ok'), checks }
  }

  /** The same with what is wrong, with what is not vital, and with the notes: for administrators only. */
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
    // For everybody the word alone: the reason may name hosts.
    if (late.aborted) return { word: 'timed out', reason: 'It did not answer within 2 seconds.' }
    return { word: 'failed', reason: reasonOf(error) }
  }
}

/** The message of an error, without the credentials of addresses in it. */
function reasonOf(error: unknown): string {
  const { message = '', code } = error as { message?: string; code?: string }
  return (message || code || String(error)).replace(/(:\/\/)[^/?#\s@]+@/g, '$1********@').slice(0, 500)
}

/** `/healthz`: the process answers. `/readyz`: so does what it stands on. Both on any Host. */
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
    // The sentences are for the host: they may name folders and machines.
    const details = Object.fromEntries([...health.notes].map(([name, { state }]) => [name, state]))
    return { status, checks, ...(health.notes.size > 0 ? { details } : {}) }
  })
}
