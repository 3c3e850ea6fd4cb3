// Requests of the script that the platform answers later: scores and saves. See prelude.js.
;(() => {
  const { apply } = Reflect
  const NativeMap = Map
  const { get: mapGet, set: mapSet, delete: mapDelete } = Map.prototype
  const NativeSet = WeakSet
  const { add: setAdd, has: setHas } = WeakSet.prototype
  const NativePromise = Promise
  const NativeError = Error
  const TooMuch = RangeError
  /** As many as the room may ask for at once (`running-script.ts`). */
  const MOST_REQUESTS = 200

  return ({ json, emit, mostBytes }) => {
    let requested = 0
    const requests = new NativeMap()
    /** The promises of all requests, by which their rejections are told from exceptions. */
    const promises = new NativeSet()
    let waiting = 0
    /**
     * Returns a promise of the answer. It rejects with a `code`, and nothing is thrown.
     *
     * @param {() => unknown[]} valuesOf
     */
    function request(kind, valuesOf) {
      const pending = { resolve: null, reject: null, problem: null }
      const promise = new NativePromise((resolve, reject) => {
        pending.resolve = resolve
        pending.reject = reject
      })
      apply(setAdd, promises, [promise])
      // Made here, its stack has the line of the request.
      pending.problem = new NativeError()
      try {
        if (waiting >= MOST_REQUESTS) {
          fail(pending, { code: 'rate_limited', message: `At most ${MOST_REQUESTS} scores and saves at once.` })
          return promise
        }
        const text = json(valuesOf())
        if (text.length > mostBytes) {
          fail(pending, { code: 'too_large', message: `A score or save of a script has at most ${mostBytes} bytes.` })
          return promise
        }
        const id = requested + 1
        emit(`Q\t${id}\t${kind}\t${text}\n`, 1)
        requested = id
        waiting++
        apply(mapSet, requests, [id, pending])
      } catch (error) {
        if (error instanceof NativeError) error.code ??= error instanceof TooMuch ? 'rate_limited' : 'invalid_request'
        pending.reject(error)
      }
      return promise
    }
    function fail({ problem, reject }, { message, code }) {
      problem.message = message
      problem.code = code
      reject(problem)
    }
    function answer(id, value, error) {
      const pending = apply(mapGet, requests, [id])
      if (pending === undefined) return
      apply(mapDelete, requests, [id])
      waiting--
      if (error === null) pending.resolve(value)
      else fail(pending, error)
    }
    /** Returns the number of requests without an answer. */
    const open = () => waiting
    const isRequest = (promise) => apply(setHas, promises, [promise])
    return { request, answer, open, isRequest }
  }
})()
