import { Readable } from 'node:stream'
import { type Storage, StorageUnavailable } from '../../drivers/storage/interface.ts'

export interface Fault {
  /** The number of the failing operation, from 1; Infinity for none. */
  failOn: number
  /**
   * `before`: the operation has no effect. `after`: it took effect, but its result is lost. `mid-stream`: the bytes of
   * a put or a get, or a list, end after the first chunk, and half of many blobs is stored; other operations fail as
   * with `before`. Default: `before`.
   */
  mode?: 'before' | 'after' | 'mid-stream'
  error?: Error
}

/** A storage that fails once and counts its operations. */
export interface FaultyStorage extends Storage {
  /**
   * The number of started operations. All methods count except `verifyRelay` and `close`, which do not access the
   * storage.
   */
  readonly operations: number
}

/**
 * Wraps a storage so that one of its operations fails, to test its callers. Repeat a scenario with `failOn` from 1
 * until it completes with fewer operations than that.
 */
export function faultyStorage(inner: Storage, fault: Fault): FaultyStorage {
  const { failOn, mode = 'before', error = new StorageUnavailable() } = fault
  let operations = 0

  /** Returns whether the operation that starts now fails midway. */
  const breaksOff = () => mode === 'mid-stream' && operations + 1 === failOn

  const attempt = async <Result>(operation: () => Promise<Result>, streams = false): Promise<Result> => {
    operations += 1
    if (operations !== failOn || (streams && mode === 'mid-stream')) return operation()
    const result = mode === 'after' && (await operation())
    if (result instanceof Readable) result.destroy()
    throw error
  }

  const putAll: NonNullable<Storage['putAll']> = async (blobs) => {
    const breaks = breaksOff()
    const sent = breaks ? blobs.slice(0, Math.ceil(blobs.length / 2)) : blobs
    await attempt(async () => inner.putAll?.(sent), true)
    if (breaks) throw error
  }

  return {
    get operations() {
      return operations
    },
    async put(key, body, expected) {
      const sent = breaksOff() ? brokenOff(body, error) : body
      return attempt(() => inner.put(key, sent, expected), true)
    },
    ...(inner.putAll ? { putAll } : {}),
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

/** Returns a stream with the first chunk, then an error. */
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
