/** Whose task it is, and whether somebody waits for the result. */
export interface TaskKind {
  owner?: string | undefined
  background: boolean
}

/** A task that may run now. */
export interface Turn {
  /** Lets the next task run. A second call does nothing. */
  end(): void
}

interface Waiting {
  kind: TaskKind
  start: () => void
  fail: (reason: unknown) => void
}

/** The waiting tasks of each owner, in the order of the owners' turns. A task without an owner has a key of its own. */
type Line = Map<string | symbol, Waiting[]>
type KindName = 'interactive' | 'background'

const nameOf = ({ background }: TaskKind): KindName => (background ? 'background' : 'interactive')

/**
 * Decides which task runs next. Tasks that somebody waits for precede background tasks. Owners take turns: after a task
 * an owner's next one stands behind those of all others. An owner has one running task of each kind, so an upload does
 * not wait for the background work of an earlier one.
 */
export class TaskQueue {
  readonly #most: { interactive: number; background: number }
  readonly #lines: { interactive: Line; background: Line } = { interactive: new Map(), background: new Map() }
  /** The owners with a running task. */
  readonly #owners = { interactive: new Set<string>(), background: new Set<string>() }
  #running = 0
  #closedBy: Error | null = null

  /** @param most the number of running tasks, of both kinds together, up to which one of a kind may start */
  constructor(most: { interactive: number; background: number }) {
    this.#most = most
  }

  /**
   * Waits until a task may run.
   *
   * @throws the signal's reason as soon as it aborts, or the error of `close`
   */
  async take(kind: TaskKind, signal?: AbortSignal): Promise<Turn> {
    signal?.throwIfAborted()
    if (this.#closedBy) throw this.#closedBy
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const line = this.#lines[nameOf(kind)]
    const key = kind.owner ?? Symbol()
    const waiting: Waiting = { kind, start: resolve, fail: reject }
    const abort = () => {
      const others = (line.get(key) ?? []).filter((other) => other !== waiting)
      if (others.length > 0) line.set(key, others)
      else line.delete(key)
      reject(signal?.reason)
    }
    const tasks = line.get(key)
    if (tasks) tasks.push(waiting)
    else line.set(key, [waiting])
    signal?.addEventListener('abort', abort)
    this.#startNext()
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', abort)
    }
    let ended = false
    const end = () => {
      if (ended) return
      ended = true
      this.#running--
      if (kind.owner !== undefined) this.#giveWay(kind.owner, nameOf(kind))
      this.#startNext()
    }
    return { end }
  }

  /** Fails every waiting task, and every later one. Running tasks keep their turn. */
  close(reason: Error): void {
    this.#closedBy = reason
    for (const line of Object.values(this.#lines)) {
      for (const tasks of line.values()) for (const { fail } of tasks) fail(reason)
      line.clear()
    }
  }

  /** Puts an owner whose task has ended behind all others. */
  #giveWay(owner: string, kind: KindName): void {
    this.#owners[kind].delete(owner)
    const line = this.#lines[kind]
    const tasks = line.get(owner)
    if (!tasks) return
    line.delete(owner)
    line.set(owner, tasks)
  }

  #startNext(): void {
    for (;;) {
      const next = this.#next('interactive') ?? this.#next('background')
      if (!next) return
      this.#running++
      if (next.kind.owner !== undefined) this.#owners[nameOf(next.kind)].add(next.kind.owner)
      next.start()
    }
  }

  /** Removes the first task whose owner has none running. */
  #next(kind: KindName): Waiting | undefined {
    if (this.#running >= this.#most[kind]) return undefined
    const line = this.#lines[kind]
    for (const [key, tasks] of line) {
      if (this.#owners[kind].has(key as string)) continue
      const first = tasks.shift()
      if (tasks.length === 0) line.delete(key)
      return first
    }
    return undefined
  }
}
