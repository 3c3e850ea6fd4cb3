// Requests of the script that the platform answers later: scores and saves. See prelude.js.
;(() => {
  const { apply } = Reflect
  const NativeMap = Map
  const { get: mapGet, set: mapSet, delete: mapDelete } = Map.prototype
  const NativePromise = Promise
  const NativeError = Error
  const TooMuch = RangeError
  const MOST_REQUESTS = 100
  const { then } = NativePromise.prototype

  /** The promise of an answer. It knows whether the script will hear of an error. */
  class Answer extends NativePromise {
    #isAwaited = false
    static get [Symbol.species]() {
      return NativePromise
    }
    // biome-ignore lint/suspicious/noThenProperty: `await` calls it, since this is no plain promise
    then(onFulfilled, onRejected) {
      this.#isAwaited = true
      return apply(then, this, [onFulfilled, onRejected])
    }
    static isAwaited(answer) {
      return answer.#isAwaited
    }
    static await(promise) {
      if (#isAwaited in promise) promise.#isAwaited = true
    }
  }
  const { isAwaited, await: markAwaited } = Answer

  return ({ json, emit, report, mostBytes }) => {
    let requested = 0
    const requests = new NativeMap()
    let waiting = 0
    function request(kind, values) {
      if (waiting >= MOST_REQUESTS) throw new TooMuch(`At most ${MOST_REQUESTS} requests at once.`)
      const text = json(values)
      if (text.length > mostBytes) throw new TooMuch('The value is too large.')
      const id = ++requested
      emit(`Q\t${id}\t${kind}\t${text}\n`, 1)
      waiting++
      // Made here, its stack has the line of the request.
      const problem = new NativeError()
      const pending = { promise: null, resolve: null, reject: null, problem }
      pending.promise = new Answer((resolve, reject) => {
        pending.resolve = resolve
        pending.reject = reject
      })
      apply(mapSet, requests, [id, pending])
      return pending.promise
    }
    function answer(id, value, error) {
      const pending = apply(mapGet, requests, [id])
      if (pending === undefined) return
      apply(mapDelete, requests, [id])
      waiting--
      if (error === null) return pending.resolve(value)
      const { problem } = pending
      problem.message = error.message
      problem.code = error.code
      if (!isAwaited(pending.promise)) report(problem, 'F')
      pending.reject(problem)
    }
    /** Returns the number of requests without an answer. */
    const open = () => waiting
    return { request, answer, open, markAwaited }
  }
})()
