import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, type HttpAnswer } from '../kit/upload.ts'
import { mustAsk, signUp, tokenOf } from './cluster-players.ts'

const JOBS = '/api/blender/v1/jobs'
/** A program of Blender that makes one object. */
const WORK = { name: 'A chest', template: 'prop', parameters: { kind: 'chest', size: 2 } }
const POLL_MS = 500

/** A job that was accepted, as it ended. */
interface EndedJob {
  id: string
  status: string
  attempts: number
  error: { code: string } | null
}

/** A player who has one Blender job after the other made, and asks again whatever has no answer. */
export class JobLoad {
  readonly #portal: string
  readonly #headers: { authorization: string }
  readonly #ended: EndedJob[] = []
  readonly #working: Promise<void>
  #over = false

  private constructor(portal: string, token: string) {
    this.#portal = portal
    this.#headers = { authorization: `Bearer ${token}` }
    this.#working = this.#work()
  }

  static async begin(portal: string): Promise<JobLoad> {
    const player = await signUp(portal, 'Maker')
    const token = await tokenOf(player, portal, ['assets:read', 'assets:generate'])
    await mustAsk('GET', portal + JOBS, { headers: { authorization: `Bearer ${token}` } })
    return new JobLoad(portal, token)
  }

  /** Waits for the job that is under way. @returns all jobs that were accepted; none is missing or still open */
  async end(): Promise<EndedJob[]> {
    this.#over = true
    await this.#working
    return this.#ended
  }

  async #work(): Promise<void> {
    while (!this.#over) {
      const { status, body } = await this.#patient('POST', JOBS, { 'idempotency-key': randomUUID() })
      if (status !== 202) throw new Error(`A job was answered with ${status}: ${JSON.stringify(body)}`)
      for (;;) {
        const { status, body: job } = await this.#patient('GET', `${JOBS}/${body.id}`)
        if (status !== 200) throw new Error(`The accepted job ${body.id} was answered with ${status}.`)
        if (!['queued', 'running'].includes(job.status)) {
          this.#ended.push(job)
          break
        }
        await sleep(POLL_MS)
      }
    }
  }

  async #patient(method: 'GET' | 'POST', path: string, more: Record<string, string> = {}): Promise<HttpAnswer> {
    const options = { headers: { ...this.#headers, ...more }, ...(method === 'POST' ? { body: WORK } : {}) }
    for (;;) {
      const answer = await ask(method, this.#portal + path, options).catch(() => null)
      const isEarly = answer?.status === 409 && answer.headers['retry-after'] !== undefined
      if (answer && answer.status < 500 && !isEarly) return answer
      await sleep(POLL_MS)
    }
  }
}
