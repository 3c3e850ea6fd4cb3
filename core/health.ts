import type { FastifyInstance } from 'fastify'

type Check = () => Promise<unknown>

/** Something that goes on beside the requests, and whether it went well: shown to the host, never turning requests away. */
export interface HealthDetail {
  state: 'ok' | 'warning'
  /** One sentence for the host of the platform. */
  message: string
  at: Date
}

/** Answers whether what the platform stands on is reachable; plugins and drivers add their checks by name. */
export class Health {
  readonly #checks = new Map<string, Check>()
  /** By name, such as `backup`; whoever does the work sets its own. */
  readonly details = new Map<string, HealthDetail>()
  /** Set when the process is about to stop, so that load balancers turn away before it does. */
  draining = false

  /** @param check resolves when all is well; it is given 2 seconds */
  add(name: string, check: Check): void {
    this.#checks.set(name, check)
  }

  /** Every check, run side by side: `ok`, or the reason. */
  async run(): Promise<{ ready: boolean; checks: Record<string, string> }> {
    const results = await Promise.all(
      [...this.#checks].map(async ([name, check]) => [name, await outcome(check)] as const),
    )
    const checks = Object.fromEntries(results)
    return { ready: !this.draining && results.every(([, result]) => result === 'ok'), checks }
  }
}

async function outcome(check: Check): Promise<string> {
  const late = AbortSignal.timeout(2000)
  try {
    await Promise.race([check(), new Promise((_, reject) => late.addEventListener('abort', () => reject(late.reason)))])
    return 'ok'
  } catch {
    // The reason may name hosts and credentials; it is in the log, where the driver put it.
    return late.aborted ? 'timed out' : 'failed'
  }
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
    const details = Object.fromEntries([...health.details].map(([name, { state }]) => [name, state]))
    return { status, checks, ...(health.details.size > 0 ? { details } : {}) }
  })
}
