import { Readable } from 'node:stream'
import { type Storage, StorageUnavailable } from '../../drivers/storage/interface.ts'

export interface Fault {
  /** Number of the operation that fails, from 1; Infinity for none. */
  failOn: number
  /**
   * `before`: nothing was done. `after`: it was done, and the answer was lost. `mid-stream`: the bytes of a put or a
   * get, or a list, end after the first piece; other operations fail as by `before`. Default: `before`.
   */
  mode?: 'before' | 'after' | 'mid-stream'
  error?: Error
}

/** A storage that fails once, and knows how often it was asked. */
export interface FaultyStorage extends Storage {
  /** Operations begun so far: every method counts but `verifyRelay` and `close`, which ask nothing of the storage. */
  readonly operations: number
}

/**
 * Wraps a storage so that one of its operations fails, to test its callers. Repeat a scenario with `failOn` from 1
 * until it completes with fewer operations than that.
 */
export function faultyStorage(inner: Storage, fault: Fault): FaultyStorage {
  const { failOn, mode = 'before', error = new StorageUnavailable() } = fault
  let operations = 0

  /** Whether the operation that begins now breaks off on its way. */
  const breaksOff = () => mode === 'mid-stream' && operations + 1 === failOn

  const attempt = async <Result>(operation: () => Promise<Result>, streams = false): Promise<Result> => {
    operations += 1
    if (operations !== failOn || (streams && mode === 'mid-stream')) return operation()
    const result = mode === 'after' && (await operation())
    if (result instanceof Readable) result.destroy()
    throw error
  }

  return {
    get operations() {
      return operations
    },
    async put(key, body, expected) {
      const sent = breaksOff() ? brokenOff(body, error) : body
      return attempt(() => inner.put(key, sent, expected), true)
    },
    async get(key, range) {
      const breaks = breaksOff()
      const blob = await attempt(() => inner.get(key, range), true)
      return breaks ? brokenOff(blob, error) : blob
    },
    async *list(prefix) {
      const breaks = breaksOff()
      await attempt(async () => {}, true)
      for await (const blob of inner.list(prefix)) {
        yield blob
        if (breaks) break
      }
      if (breaks) throw error
    },
    copy: (from, to, expected) => attempt(() => inner.copy(from, to, expected)),
    head: (key) => attempt(() => inner.head(key)),
    delete: (key) => attempt(() => inner.delete(key)),
    presignPut: (key, expected, options) => attempt(() => inner.presignPut(key, expected, options)),
    verifyRelay: (url, expected) => inner.verifyRelay(url, expected),
    commitPut: (key, expected) => attempt(() => inner.commitPut(key, expected)),
    ping: () => attempt(() => inner.ping()),
    close: () => inner.close(),
  }
}

/** The first piece of a stream, and then an error. */
function brokenOff(body: Readable, error: Error): Readable {
  const chunks = async function* () {
    for await (const chunk of body) {
      yield chunk
      break
    }
    throw error
  }
  return Readable.from(chunks(), { objectMode: false })
}
