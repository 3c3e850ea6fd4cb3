// Promises that are rejected while nobody handles them. QuickJS tells of each. See prelude.js.
;(() => {
  const { apply } = Reflect
  const NativeMap = Map
  const { set: mapSet, delete: mapDelete, forEach: mapForEach, clear: mapClear } = Map.prototype

  return ({ report, count, playerNow }) => {
    const rejections = new NativeMap()
    let size = 0
    /** @param isHandled whether the promise, of which this was called before, has got a handler */
    function track(promise, reason, isHandled) {
      if (!isHandled) apply(mapSet, rejections, [promise, { reason, player: playerNow() }])
      else if (!apply(mapDelete, rejections, [promise])) return
      size += isHandled ? -1 : 1
      count(size)
    }
    const reportOne = ({ reason, player }, promise) => report(promise, reason, player)
    /** Reports those that nobody has handled by the end of a turn. */
    function reportAll() {
      if (size === 0) return
      size = 0
      count(0)
      apply(mapForEach, rejections, [reportOne])
      apply(mapClear, rejections, [])
    }
    return { track, reportAll }
  }
})()
