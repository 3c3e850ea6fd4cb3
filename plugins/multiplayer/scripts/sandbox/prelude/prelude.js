// The part of a room script's world that is the platform's. It runs in QuickJS before the script, makes the object
// `room`, and calls what the script exports.
//
// It shares its realm with the script, which may replace any built-in method. So it keeps the few that it calls, and
// otherwise uses syntax only. A script that still confuses it harms its own room: the limits of time and memory are
// outside, and the room checks each operation again.
//
// The worker calls `dispatch(text, bytes)` with a JSON array of events: for each a letter and its fields. It gets lines of
// text. Each is one operation (scripts/operations.ts): a letter and fields, separated by tabs. JSON and ids contain
// neither tabs nor line feeds. Numbers are exchanged through memory that both share.
;(() => {
  const { parse, stringify } = JSON
  const { apply } = Reflect
  const { floor, max, min } = Math
  const { isArray } = Array
  const { fromCharCode } = String
  const { freeze, keys } = Object
  const NativePromise = Promise
  const { then } = Promise.prototype
  const { slice: sliceBuffer } = ArrayBuffer.prototype
  const { slice: sliceText } = String.prototype
  const Bytes = Uint8Array
  const Numbers = Float64Array
  const TooMuch = RangeError

  const LONGEST_NAME = 128
  /** More than any room has. */
  const MOST_PLAYERS = 1e6
  /** Positions of the shared numbers. */
  const NOW = 0
  /** What may still be sent: bytes times recipients. */
  const ALLOWANCE = 1
  /** The time at which the next timer is due, or -1. */
  const NEXT_TIMER = 2
  /** The number of calls of the script so far, by which the worker knows when the present one began. */
  const CALLS = 3
  /** Becomes 1 when the script answers to a message: it sends something, or sets a timer. */
  const ANSWERED = 4
  /** How long after a player has left there are scores and saves for them, in ms. */
  const FAREWELL_MS = 10_000
  /** What an operation costs beside its bytes. */
  const OPERATION_COST = 200

  const json = (value) => stringify(value) ?? 'null'
  const cut = (text, length) => (text.length > length ? apply(sliceText, text, [0, length]) : text)

  /** A name of a message, key, board or player: no JSON, so that it needs no second look. */
  function nameOf(value, what) {
    if (typeof value !== 'string' || value.length === 0 || value.length > LONGEST_NAME) {
      throw new TypeError(`${what} must be a text of 1 to ${LONGEST_NAME} characters.`)
    }
    return value
  }

  /**
   * @param {string} optionsText JSON: `{ id, seed: [4 numbers], stateBytes, frameBytes, callBytes }`
   * @param {ArrayBuffer} shared numbers, at the positions below
   * @returns {(module: object) => ((text: string, bytes: ArrayBuffer | undefined) => string)}
   */
  return (optionsText, shared, makeState, makeTimers, makeRequests, makeLog, setClock) => {
    const options = parse(optionsText)
    let out = ''
    const write = (operation) => {
      out += operation
    }
    const numbers = new Numbers(shared)
    /** Whether messages of players are handled. */
    let answering = false
    /** The bytes of this dispatch that were handed over. */
    let taken = 0
    let sentInCall = 0

    // sfc32, a small generator of good quality, seeded for each room.
    let [a, b, c, d] = options.seed
    const random = () => {
      const sum = (((a + b) | 0) + d) | 0
      d = (d + 1) | 0
      a = b ^ (b >>> 9)
      b = (c + (c << 3)) | 0
      c = ((c << 21) | (c >>> 11)) + sum
      c |= 0
      return (sum >>> 0) / 4294967296
    }

    // By their ids. An object without prototype is faster than a map, whose methods have to be applied.
    const players = { __proto__: null }
    let list = freeze([])
    /** The times at which players left, by their ids. */
    const leftAt = { __proto__: null }
    const relist = () => {
      const ids = keys(players)
      const next = []
      for (let at = 0; at < ids.length; at++) next[at] = players[ids[at]]
      list = freeze(next)
    }

    /** Adds the ids of recipients to a line. */
    function idOf(to) {
      const id = typeof to === 'object' && to !== null ? to.id : to
      return typeof id !== 'string' || players[id] === undefined ? '' : id
    }
    function recipients(to) {
      if (to === undefined || to === 'all') return { ids: '*', count: list.length }
      if (!isArray(to)) {
        const id = idOf(to)
        return { ids: id, count: id === '' ? 0 : 1 }
      }
      let ids = ''
      let count = 0
      const length = min(to.length, options.players)
      for (let at = 0; at < length; at++) {
        const id = idOf(to[at])
        if (id === '') continue
        ids += ids === '' ? id : `,${id}`
        count++
      }
      return { ids, count }
    }
    function mustFit(length) {
      if (length > options.frameBytes) throw new TooMuch(`A message has at most ${options.frameBytes} bytes.`)
    }

    /**
     * Adds an operation. Each costs its bytes and some work, times its recipients.
     *
     * @param {string} operation
     * @param {number} count recipients
     */
    function emit(operation, count) {
      const cost = operation.length + OPERATION_COST
      if (sentInCall + cost > options.callBytes || cost * max(1, count) > numbers[ALLOWANCE]) {
        throw new TooMuch('The room sends too much.')
      }
      if (answering) numbers[ANSWERED] = 1
      sentInCall += cost
      numbers[ALLOWANCE] -= cost * max(1, count)
      out += operation
    }

    const { state, keep, keepAll } = makeState({ options, nameOf, mustFit, count: () => list.length, emit })
    const { schedule, runTimers, nextTimer } = makeTimers({ now: () => numbers[NOW], invoke })
    const setTimer = (ms, fn, isRepeated) => {
      if (answering) numbers[ANSWERED] = 1
      return schedule(ms, fn, isRepeated)
    }

    const { log, report, beginTurn } = makeLog({ json, cut, write })

    const requests = makeRequests({ json, emit, report, mostBytes: options.frameBytes })
    const { request, answer, open: openRequests, markAwaited } = requests

    const FAILED = { __proto__: null }
    function invoke(fn, values) {
      numbers[CALLS]++
      sentInCall = 0
      try {
        const result = apply(fn, undefined, values)
        if (typeof result === 'object') watch(result)
        return result
      } catch (error) {
        report(error)
        return FAILED
      }
    }
    /** Reports the rejection of a promise. */
    function watch(result) {
      if (!(result instanceof NativePromise)) return
      markAwaited(result)
      apply(then, result, [undefined, (error) => report(error)])
    }

    const hasJustLeft = (id) => leftAt[id] !== undefined && numbers[NOW] - leftAt[id] <= FAREWELL_MS
    /** Returns the id of a player who is here. @param {boolean} mayHaveLeft whether one who has just left will do */
    const playerId = (player, mayHaveLeft = false) => {
      const id = typeof player === 'object' && player !== null ? player.id : player
      if (typeof id !== 'string' || !(players[id] !== undefined || (mayHaveLeft && hasJustLeft(id))))
        throw new TypeError('There is no such player here.')
      return id
    }
    const room = freeze({
      id: options.id,
      get players() {
        return list
      },
      state,
      send(type, data, to) {
        const frame = `{"t":"msg","from":null,"type":${stringify(nameOf(type, 'The type of a message'))},"data":${json(data)}}`
        const { ids, count } = recipients(to)
        if (count === 0) return
        mustFit(frame.length)
        emit(`M\t${ids}\t${frame}\n`, count)
      },
      sendBinary(bytes, to) {
        const view = bytes instanceof Bytes ? bytes : new Bytes(bytes)
        const { ids, count } = recipients(to)
        if (count === 0) return
        const { length } = view
        mustFit(length)
        // Each byte is a character above the controls, so that the text has no tab or line feed. A getter may have taken
        // the bytes away meanwhile, and `instanceof` can be deceived.
        let text = ''
        for (let at = 0; at < length; at++) text += fromCharCode((view[at] & 255) + 256)
        emit(`B\t${ids}\t${text}\n`, count)
      },
      kick(player, reason = '') {
        emit(`K\t${playerId(player)}\t${stringify(cut(`${reason}`, 100))}\n`, 1)
      },
      lock() {
        emit('L\t1\n', 1)
      },
      unlock() {
        emit('L\t0\n', 1)
      },
      host(player) {
        emit(`H\t${playerId(player)}\n`, 1)
      },
      now: () => numbers[NOW],
      random,
      after: (ms, fn) => setTimer(ms, fn, false),
      every: (ms, fn) => setTimer(ms, fn, true),
      log,
      score: (board, player, value, detail) =>
        request('score', [nameOf(board, 'The board'), playerId(player, true), value, detail]),
      saves: freeze({
        get: (player, key) => request('saves.get', [playerId(player, true), nameOf(key, 'The key')]),
        set: (player, key, value) => request('saves.set', [playerId(player, true), nameOf(key, 'The key'), value]),
      }),
    })

    setClock({ now: () => numbers[NOW], random, log })

    return (module) => {
      const exported = (name) => (typeof module[name] === 'function' ? module[name] : null)
      const handlers = { __proto__: null }
      for (const name of ['open', 'join', 'message', 'binary', 'tick', 'leave', 'snapshot', 'restore', 'close']) {
        handlers[name] = exported(name)
      }
      /** Whether the room is over. The script then gets only answers to its requests. */
      let isClosed = false
      const call = (name, values) => (handlers[name] === null ? undefined : invoke(handlers[name], values))

      function readSettings() {
        const { tick = 0, players: most = null, clientState = false, relay = false } = module.settings ?? {}
        if (typeof tick !== 'number' || !(tick >= 0 && tick <= 60)) throw new TooMuch('settings.tick is 0 to 60.')
        if (most !== null && !(typeof most === 'number' && most >= 1 && most <= MOST_PLAYERS && most === floor(most))) {
          throw new TooMuch(`settings.players is 1 to ${MOST_PLAYERS}.`)
        }
        // Without `stringify`, which would call a method `toJSON` that the script may have added to all objects.
        const flags = `"clientState":${clientState === true},"relay":${relay === true}`
        out += `O\t{"tick":${tick},"players":${most},${flags},"snapshot":${handlers.snapshot !== null}}\n`
      }
      function open(people, values, restored) {
        for (let at = 0; at < people.length; at++) players[people[at].id] = people[at]
        relist()
        keepAll(values)
        readSettings()
        numbers[CALLS]++
        sentInCall = 0
        // An exception here ends the room.
        if (typeof restored !== 'undefined' && handlers.restore !== null)
          apply(handlers.restore, undefined, [room, restored])
        else {
          if (handlers.open !== null) apply(handlers.open, undefined, [room])
          // The script starts over, and meets those who are there already.
          for (let at = 0; at < list.length; at++) call('join', [room, list[at]])
        }
      }
      function join(player, question) {
        players[player.id] = player
        relist()
        const verdict = call('join', [room, player])
        const isRefused = verdict === FAILED || verdict === false || typeof verdict === 'string'
        if (isRefused) {
          delete players[player.id]
          relist()
        }
        const reason = typeof verdict === 'string' ? cut(verdict, 200) : ''
        out += `V\t${question}\t${isRefused ? stringify(reason) : ''}\n`
      }
      function leave(id, reason) {
        const player = players[id]
        if (player === undefined) return
        delete players[id]
        relist()
        for (const other of keys(leftAt)) if (!hasJustLeft(other)) delete leftAt[other]
        leftAt[id] = numbers[NOW]
        call('leave', [room, player, reason])
      }
      function takeSnapshot() {
        if (handlers.snapshot === null) return
        const data = invoke(handlers.snapshot, [room])
        if (data === FAILED) return
        let text
        try {
          text = json(data)
        } catch (error) {
          return report(error)
        }
        if (text.length > options.stateBytes) report(new TooMuch(`A snapshot has at most ${options.stateBytes} bytes.`))
        else out += `N\t${text}\n`
      }

      const { message: onMessage } = handlers
      /** The call that is made most often, without an array of arguments. */
      function takeMessage(player, type, data) {
        numbers[CALLS]++
        sentInCall = 0
        answering = true
        try {
          const result = onMessage(room, player, type, data)
          if (typeof result === 'object') watch(result)
        } catch (error) {
          report(error)
        }
        answering = false
      }
      function takeBytes(player, bytes, length) {
        const start = taken
        taken += length
        if (player === undefined) return
        answering = true
        call('binary', [room, player, new Bytes(apply(sliceBuffer, bytes, [start, taken]))])
        answering = false
      }
      function takeState(values, deleted) {
        for (let at = 0; at < deleted.length; at++) keep(deleted[at], undefined)
        keepAll(values)
      }

      /** Handles the event at a position. @returns the position of the next one */
      function handle(events, at, bytes) {
        const first = events[at + 1]
        switch (events[at]) {
          case 'm': {
            const player = players[first]
            if (player !== undefined && onMessage !== null) takeMessage(player, events[at + 2], events[at + 3])
            return at + 4
          }
          case 't':
            if (!isClosed) call('tick', [room, first])
            return at + 2
          case 'b':
            takeBytes(players[first], bytes, events[at + 2])
            return at + 3
          case 'j':
            join(first, events[at + 2])
            return at + 3
          case 'l':
            leave(first, events[at + 2])
            return at + 3
          case 'p': {
            const player = players[first]
            if (player !== undefined) player.data = events[at + 2]
            return at + 3
          }
          case 's':
            takeState(first, events[at + 2])
            return at + 3
          case 'r':
            answer(first, events[at + 2], events[at + 3])
            return at + 4
          case 'n':
            takeSnapshot()
            return at + 1
          case 'o':
            open(first, events[at + 2])
            return at + 3
          case 'R':
            open(first, events[at + 2], events[at + 3])
            return at + 4
          default:
            isClosed = true
            call('close', [room])
            return at + 1
        }
      }

      return (text, bytes) => {
        const events = parse(text)
        taken = 0
        for (let at = 0; at < events.length; ) at = handle(events, at, bytes)
        if (!isClosed) runTimers()
        beginTurn()
        numbers[NEXT_TIMER] = isClosed ? -1 : nextTimer()
        if (isClosed) out += `C\t${openRequests()}\n`
        const result = out
        out = ''
        return result
      }
    }
  }
})()
