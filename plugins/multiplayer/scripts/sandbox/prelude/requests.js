// Requests of the script that the platform answers later: scores and saves. See prelude.js.
;(() => {
  const { apply } = Reflect
  const NativeMap = Map
  const { get: mapGet, set: mapSet, delete: mapDelete } = Map.prototype
  const NativePromise = Promise
  const NativeError = Error
  const TooMuch = RangeError
  const MOST_REQUESTS = 100

  return ({ json, emit, mostBytes }) => {
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
      return new NativePromise((resolve, reject) => apply(mapSet, requests, [id, { resolve, reject }]))
    }
    function answer(id, value, error) {
      const pending = apply(mapGet, requests, [id])
      if (pending === undefined) return
      apply(mapDelete, requests, [id])
      waiting--
      if (error === null) return pending.resolve(value)
      const problem = new NativeError(error.message)
      problem.code = error.code
      pending.reject(problem)
    }
    return { request, answer }
  }
})()
