// `room.state`: the shared state of the room, as the script sees it. See prelude.js.
;(() => {
  const { parse, stringify } = JSON
  const { apply } = Reflect
  const { freeze, keys } = Object
  const NativeMap = Map
  const { get: mapGet, set: mapSet, delete: mapDelete } = Map.prototype
  const TooMuch = RangeError
  const MOST_NAMES = 256

  return ({ options, nameOf, count, emit }) => {
    const json = (value) => stringify(value) ?? 'null'
    // The values are kept as JSON, so that the script gets a copy of what it has set.
    const texts = new NativeMap()
    let stateBytes = 0
    const sizeOf = (key, text) => (text === undefined ? 0 : key.length + text.length + 16)
    function keep(key, text) {
      const before = apply(mapGet, texts, [key])
      stateBytes += sizeOf(key, text) - sizeOf(key, before)
      if (text === undefined) apply(mapDelete, texts, [key])
      else apply(mapSet, texts, [key, text])
    }
    function write(values, deleted) {
      const names = keys(values)
      if (names.length + deleted.length === 0) return
      if (names.length > MOST_NAMES || deleted.length > MOST_NAMES) {
        throw new TooMuch(`At most ${MOST_NAMES} keys at once.`)
      }
      let change = 0
      let setText = ''
      const written = []
      for (let at = 0; at < names.length; at++) {
        const key = nameOf(names[at], 'A key of the state')
        const text = json(values[key])
        written[at] = text
        change += sizeOf(key, text) - sizeOf(key, apply(mapGet, texts, [key]))
        setText += `${at === 0 ? '' : ','}${stringify(key)}:${text}`
      }
      let deletedText = ''
      for (let at = 0; at < deleted.length; at++) {
        const key = nameOf(deleted[at], 'A key of the state')
        change -= sizeOf(key, apply(mapGet, texts, [key]))
        deletedText += `${at === 0 ? '' : ','}${stringify(key)}`
      }
      if (change > 0 && stateBytes + change > options.stateBytes) {
        throw new TooMuch(`The state has at most ${options.stateBytes} bytes.`)
      }
      emit(`S\t{"set":{${setText}},"del":[${deletedText}]}\n`, count())
      for (let at = 0; at < deleted.length; at++) keep(deleted[at], undefined)
      for (let at = 0; at < names.length; at++) keep(names[at], written[at])
    }
    const state = freeze({
      get(key) {
        const text = apply(mapGet, texts, [key])
        return text === undefined ? undefined : parse(text)
      },
      set(key, value) {
        const values = { __proto__: null }
        values[nameOf(key, 'A key of the state')] = value
        write(values, [])
      },
      assign: (values) => write(values, []),
      delete(...deleted) {
        write({ __proto__: null }, deleted)
      },
    })

    /** Keeps what others have written. */
    function keepAll(values) {
      const names = keys(values)
      for (let at = 0; at < names.length; at++) keep(names[at], json(values[names[at]]))
    }
    return { state, keep, keepAll }
  }
})()
