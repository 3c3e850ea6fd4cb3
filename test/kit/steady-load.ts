import { Agent, get } from 'node:http'

/** The pause of a stream between two requests. */
const PAUSE_MS = 20

/** Requests that are sent all the time, on connections that stay open and on new ones. */
export interface SteadyLoad {
  /** The number of answers with 200. */
  readonly answered: number
  /** What failed: an error code, or a status. */
  readonly failures: string[]
  /** Resolves after so many further answers. */
  forAnswers(count: number): Promise<void>
  end(): Promise<void>
}

/** @param streams how many requests are under way at a time; half of them use a new connection for each request */
export function startLoad(url: string, host: string, streams = 4): SteadyLoad {
  const { port, pathname } = new URL(url)
  const load = { answered: 0, failures: [] as string[] }
  let over = false
  const request = (agent: Agent | false) =>
    new Promise<void>((resolve) => {
      get({ host: '127.0.0.1', port, path: pathname, agent, headers: { host } }, (response) => {
        response.resume()
        response.once('close', () => {
          if (response.statusCode === 200 && response.complete) load.answered++
          else load.failures.push(String(response.statusCode))
          resolve()
        })
      }).on('error', (error: NodeJS.ErrnoException) => {
        load.failures.push(error.code ?? error.message)
        resolve()
      })
    })
  const running = Array.from({ length: streams }, async (_, index) => {
    const agent = index % 2 === 0 ? new Agent({ keepAlive: true, maxSockets: 1 }) : false
    while (!over) {
      await request(agent)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    if (agent) agent.destroy()
  })
  return {
    get answered() {
      return load.answered
    },
    failures: load.failures,
    async forAnswers(count) {
      const until = load.answered + count
      while (load.answered < until) await new Promise((resolve) => setTimeout(resolve, 20))
    },
    async end() {
      over = true
      await Promise.all(running)
    },
  }
}
