import type { FastifyInstance } from 'fastify'

/** Maximum wait for the other processes of this machine. */
const ANSWER_MS = 1000
const QUESTION = 'metrics'

/**
 * The metrics of all processes that share the port: a scrape reaches any of them. Each line gets the label `process`.
 */
export class ProcessMetrics {
  readonly #parts: Pick<FastifyInstance, 'bus' | 'metrics' | 'siblings' | 'log'>
  readonly #channel: string
  readonly #waiting = new Set<(number: number, text: string) => void>()

  /** @param name of this process; different for each */
  constructor(parts: Pick<FastifyInstance, 'bus' | 'metrics' | 'siblings' | 'log'>, name: string) {
    this.#parts = parts
    this.#channel = `${QUESTION}/${name}`
  }

  /** Begins to answer the other processes. */
  async start(): Promise<void> {
    const { bus, metrics, siblings, log } = this.#parts
    await bus.subscribe(this.#channel, (text) => {
      const { number, metrics } = JSON.parse(text)
      for (const take of this.#waiting) take(number, metrics)
    })
    await bus.subscribe(QUESTION, (asker) => {
      if (asker === this.#channel) return
      metrics
        .metrics()
        .then((text) => bus.publish(asker, JSON.stringify({ number: siblings.number, metrics: text })))
        .catch((error) => log.warn({ err: error }, 'metrics could not be sent to another process'))
    })
  }

  /** Returns the metrics of this process, and of those that answer within a second. */
  async collect(): Promise<string> {
    const { bus, metrics, siblings } = this.#parts
    const texts = new Map<number, string>()
    const all = Promise.withResolvers<void>()
    const take = (number: number, text: string) => {
      texts.set(number, text)
      if (texts.size === siblings.count) all.resolve()
    }
    this.#waiting.add(take)
    const timer = setTimeout(all.resolve, ANSWER_MS)
    try {
      await bus.publish(QUESTION, this.#channel).catch(all.resolve)
      take(siblings.number, await metrics.metrics())
      await all.promise
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(take)
    }
    return mergeMetrics(new Map([...texts].sort(([a], [b]) => a - b)))
  }
}

/**
 * Merges the Prometheus texts of several processes: each metric once, with the lines of all.
 *
 * @param texts by the number of the process
 */
export function mergeMetrics(texts: ReadonlyMap<number, string>): string {
  const metrics = new Map<string, { about: string[]; lines: string[] }>()
  for (const [number, text] of texts) {
    let metric = { about: [] as string[], lines: [] as string[] }
    for (const line of text.split('\n')) {
      if (line === '') continue
      if (line.startsWith('# HELP ')) {
        const name = line.split(' ', 3)[2] as string
        const known = metrics.get(name)
        metric = known ?? { about: [line], lines: [] }
        if (!known) metrics.set(name, metric)
      } else if (line.startsWith('#')) {
        if (!metric.about.includes(line)) metric.about.push(line)
      } else metric.lines.push(labelled(line, number))
    }
  }
  const blocks = [...metrics.values()].map(({ about, lines }) => [...about, ...lines].join('\n'))
  return `${blocks.join('\n\n')}\n`
}

function labelled(line: string, number: number): string {
  const end = line.search(/[{ ]/)
  const rest = line[end] === '{' ? line.slice(end + 1) : `}${line.slice(end)}`
  const comma = rest.startsWith('}') ? '' : ','
  return `${line.slice(0, end)}{process="${number}"${comma}${rest}`
}
