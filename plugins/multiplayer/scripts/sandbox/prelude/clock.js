// The global objects that would tell more than the room does: no clock but the room's, no time zone, no randomness but
// the room's. See prelude.js.
;(() => {
  const { construct } = Reflect
  const { floor } = Math
  const { defineProperty, freeze } = Object
  const NativeDate = Date

  return ({ now, random, log }) => {
    // biome-ignore lint/correctness/noComponentHookFactories: no component
    const RoomDate = function (...values) {
      if (new.target === undefined) return `${construct(NativeDate, [now()])}`
      return construct(NativeDate, values.length === 0 ? [now()] : values, new.target)
    }
    RoomDate.prototype = NativeDate.prototype
    RoomDate.now = () => floor(now())
    RoomDate.parse = NativeDate.parse
    RoomDate.UTC = NativeDate.UTC
    const hidden = (target, name, value) =>
      defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false })
    hidden(NativeDate.prototype, 'constructor', RoomDate)
    hidden(NativeDate.prototype, 'getTimezoneOffset', () => 0)
    for (const part of ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds', 'Milliseconds']) {
      for (const verb of ['get', 'set']) {
        const same = NativeDate.prototype[`${verb}UTC${part}`]
        if (same) hidden(NativeDate.prototype, `${verb}${part}`, same)
      }
    }
    hidden(globalThis, 'Date', RoomDate)
    hidden(Math, 'random', random)
    hidden(globalThis, 'performance', undefined)
    hidden(globalThis, 'console', freeze({ log, info: log, warn: log, error: log, debug: log }))
  }
})()
