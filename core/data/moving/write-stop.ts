import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../../events.ts'
import { makeFolder } from '../folders/make-folder.ts'

/** What a move asks of the processes that use its source. */
export interface StopRequest {
  /** Identifies the run of the move. */
  move: string
  /** `stop`: write no more, for `LEASE_MS` unless repeated. `go`: write again. `done`: write no more, for good. */
  state: 'stop' | 'go' | 'done'
}

/**
 * A process that has stopped writing: for as long as it is asked to, or for good. `lapsed`: it can't confirm the end of
 * the move, since it did not hear from it for `LEASE_MS`, and may have written since.
 */
export interface StopAnswer {
  move: string
  node: string
  state: 'stop' | 'done' | 'lapsed'
}

/** Without a repetition of the request, a process writes again after this time, since the move may have died. */
export const LEASE_MS = 15_000
const REPEAT_MS = 2000

/** Carries requests from a move to the processes of its source, and their answers back. */
export interface StopChannel {
  send(request: StopRequest): Promise<void>
  /** Returns the nodes that have answered a request, without those that are known to have ended since. */
  answers(move: string, state: StopAnswer['state']): Promise<string[]>
  /** Counts the processes that receive requests now; 0 where the channel can't tell. */
  listeners(): Promise<number>
  close(): Promise<void>
}

export interface StopResult {
  /** The number of processes that have stopped writing. */
  stopped: number
  /** The number of processes that receive requests and have not answered. They may still write. */
  silent: number
}

/** Keeps the processes of a source from writing while the request is repeated. */
export class StopSender {
  readonly #channel: StopChannel
  readonly #move: string
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> = Promise.resolve()
  /**
   * The most processes that received requests at one time. A process that connects to the bus again is not counted at
   * this moment, misses what is sent, and may still write.
   */
  #seen = 0

  constructor(channel: StopChannel, move: string) {
    this.#channel = channel
    this.#move = move
  }

  /**
   * Asks, and waits for answers.
   *
   * @param waitMs maximum wait for the expected answers and for those of all listeners; further processes have another
   *   second
   * @param expected the number of processes that are known
   */
  async stop(waitMs: number, expected = 1): Promise<StopResult> {
    await this.#send('stop')
    this.#timer = setInterval(() => void this.#send('stop').catch(() => {}), REPEAT_MS)
    for (const end = performance.now() + waitMs; performance.now() < end; ) {
      const { stopped, silent } = await this.result()
      if (stopped >= expected && silent === 0) {
        await sleep(1000)
        break
      }
      await sleep(50)
    }
    return this.result()
  }

  /** Returns how many processes have stopped writing by now. */
  async result(): Promise<StopResult> {
    // In this order: a process that begins to listen in between is taken to be silent.
    const stopped = (await this.#channel.answers(this.#move, 'stop')).length
    this.#seen = Math.max(this.#seen, await this.#channel.listeners())
    return { stopped, silent: Math.max(0, this.#seen - stopped) }
  }

  /**
   * Keeps every process that has stopped from writing for good.
   *
   * @param waitMs maximum wait for their answers
   * @returns `silent`: some have not answered. They would write again when their lease ends; the caller lets all write, or
   *   calls this again at once. `lapsed`: one of them may have written already.
   */
  async complete(waitMs: number): Promise<'complete' | 'silent' | 'lapsed'> {
    clearInterval(this.#timer)
    let sentAt = Number.NEGATIVE_INFINITY
    for (const end = performance.now() + waitMs; performance.now() < end; await sleep(20)) {
      if (performance.now() - sentAt > REPEAT_MS) {
        await this.#send('done')
        sentAt = performance.now()
      }
      if ((await this.#channel.answers(this.#move, 'lapsed')).length > 0) return 'lapsed'
      const complete = new Set(await this.#channel.answers(this.#move, 'done'))
      const stopped = await this.#channel.answers(this.#move, 'stop')
      if (stopped.every((node) => complete.has(node))) {
        await this.#channel.close()
        return 'complete'
      }
    }
    return 'silent'
  }

  /** Lets the processes write again. */
  async cancel(): Promise<void> {
    clearInterval(this.#timer)
    await this.#send('go')
    await this.#channel.close()
  }

  /** Sends one request after another: a repetition that is under way must not arrive after the end. */
  #send(state: StopRequest['state']): Promise<void> {
    const sent = this.#sending.then(() => this.#channel.send({ move: this.#move, state }))
    this.#sending = sent.catch(() => {})
    return sent
  }
}

/** The folder of the data folder in which requests and answers are files. */
export const STOP_FOLDER = 'moving'
export const REQUEST = 'request.json'
const ANSWER = /^(?:stop|done|lapsed)-([A-Za-z0-9_-]+)\.json$/

export const readRequest = (folder: string): Promise<StopRequest | null> => readJson(join(folder, REQUEST))

/** @param writer the process that answers: what has ended writes no more, and is not waited for */
export async function answerInFolder(
  folder: string,
  answer: StopAnswer,
  writer: Writer = { pid: process.pid, host: hostname() },
): Promise<void> {
  await writeJson(join(folder, `${answer.state}-${answer.node}.json`), { ...answer, ...writer })
}

interface Writer {
  pid: number
  host: string
}

/** Processes of another host, such as another container, can't be looked up here. */
function hasEnded({ pid, host }: Writer): boolean {
  if (host !== hostname()) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** A channel for the processes of one data folder. */
export class FolderChannel implements StopChannel {
  readonly #folder: string

  constructor(dataDir: string) {
    this.#folder = join(dataDir, STOP_FOLDER)
  }

  async send(request: StopRequest): Promise<void> {
    await makeFolder(this.#folder)
    await writeJson(join(this.#folder, REQUEST), request)
  }

  async answers(move: string, state: StopAnswer['state']): Promise<string[]> {
    const nodes: string[] = []
    for (const name of await readdir(this.#folder)) {
      if (!ANSWER.test(name)) continue
      const answer = await readJson<StopAnswer & Writer>(join(this.#folder, name))
      if (answer?.move === move && answer.state === state && !hasEnded(answer)) nodes.push(answer.node)
    }
    return nodes
  }

  async listeners(): Promise<number> {
    return 0
  }

  async close(): Promise<void> {
    for (const name of await readdir(this.#folder))
      if (ANSWER.test(name)) await rm(join(this.#folder, name), { force: true })
  }
}

export const STOP_CHANNEL = 'moves'
export const ANSWER_CHANNEL = 'moves/answers'

/** A channel for nodes that share a bus. */
export class BusChannel implements StopChannel {
  readonly #bus: Bus
  readonly #answers: StopAnswer[] = []
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(bus: Bus) {
    this.#bus = bus
  }

  async send(request: StopRequest): Promise<void> {
    this.#unsubscribe ??= await this.#bus.subscribe(ANSWER_CHANNEL, (text) => {
      this.#answers.push(JSON.parse(text))
    })
    await this.#bus.publish(STOP_CHANNEL, JSON.stringify(request))
  }

  async answers(move: string, state: StopAnswer['state']): Promise<string[]> {
    const answers = this.#answers.filter((answer) => answer.move === move && answer.state === state)
    return [...new Set(answers.map(({ node }) => node))]
  }

  async listeners(): Promise<number> {
    return (await this.#bus.subscribers?.(STOP_CHANNEL)) ?? 0
  }

  async close(): Promise<void> {
    await this.#unsubscribe?.()
  }
}

async function writeJson(file: string, value: object): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(value), { mode: 0o600 })
  await rename(`${file}.new`, file)
}

async function readJson<Value>(file: string): Promise<Value | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch {
    return null
  }
}
