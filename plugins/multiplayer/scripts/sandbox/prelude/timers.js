// `room.after` and `room.every`. See prelude.js.
;(() => {
  const { apply } = Reflect
  const { max } = Math
  const { splice } = Array.prototype
  const TooMuch = RangeError
  const MOST_TIMERS = 1000
  const SHORTEST_TIMER_MS = 10

  return ({ now, invoke }) => {
    // Timers, the next one last.
    const timers = []
    function schedule(ms, fn, isRepeated) {
      if (typeof fn !== 'function') throw new TypeError('A timer needs a function.')
      if (timers.length >= MOST_TIMERS) throw new TooMuch(`At most ${MOST_TIMERS} timers.`)
      const wait = max(isRepeated ? SHORTEST_TIMER_MS : 0, +ms || 0)
      const timer = { due: now() + wait, every: isRepeated ? wait : 0, fn, isOver: false }
      insert(timer)
      return () => {
        timer.isOver = true
      }
    }
    function insert(timer) {
      let low = 0
      let high = timers.length
      while (low < high) {
        const middle = (low + high) >> 1
        if (timers[middle].due > timer.due) low = middle + 1
        else high = middle
      }
      apply(splice, timers, [low, 0, timer])
    }
    function runTimers() {
      // A timer that is set meanwhile waits for the next turn.
      for (let left = timers.length; left > 0 && timers.length > 0; left--) {
        const timer = timers[timers.length - 1]
        if (timer.due > now() && !timer.isOver) return
        timers.length--
        if (timer.isOver) continue
        invoke(timer.fn, [])
        if (timer.every === 0 || timer.isOver) continue
        timer.due = max(now() + 1, timer.due + timer.every)
        insert(timer)
      }
    }

    /** The time of the next timer; -1 when there is none. */
    const nextTimer = () => (timers.length === 0 ? -1 : timers[timers.length - 1].due)
    return { schedule, runTimers, nextTimer }
  }
})()
