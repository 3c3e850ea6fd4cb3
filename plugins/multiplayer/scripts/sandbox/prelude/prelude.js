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
  const { max } = Math
  const { fromCharCode } = String
  const { freeze } = Object
  const NativePromise = Promise
  const { resolve } = Promise
  const { then } = Promise.prototype
  const { slice: sliceBuffer } = ArrayBuffer.prototype
  const { slice: sliceText } = String.prototype
  const NativeBuffer = ArrayBuffer
  const Bytes = Uint8Array
  const Numbers = Float64Array
  const TooMuch = RangeError

  const LONGEST_NAME = 128
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
  /** The number of promises that are rejected, and handled by nobody. */
  const REJECTED = 5
  /** The position of the event that is being handled, or one of the next two. */
  const EVENT = 6
  const IN_TIMERS = -1
  const IN_REACTIONS = -2
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
   * @param {string} optionsText JSON: `{ id, seed: [4 numbers], players, stateBytes, frameBytes, callBytes, sentPerSecond, sentAtOnce }`
   * @param {ArrayBuffer} shared numbers, at the positions above
   * @returns `start`, which takes the module and returns `dispatch`; `track`, which is to be told of rejected promises
   */
  return (
    optionsText,
    shared,
    makeRandom,
    makePlayers,
    makeState,
    makeTimers,
    makeRequests,
    makeRejections,
    makeLog,
    readSettings,
    setClock,
  ) => {
    const options = parse(optionsText)
    let out = ''
    const write = (operation) => {
      out += operation
    }
    const numbers = new Numbers(shared)
    /** The id of the player whose message is being handled. */
    let answering = ''
    /** The bytes of this dispatch that were handed over. */
    let taken = 0
    let sentInCall = 0

    const random = makeRandom(options.seed)
    const players = makePlayers({ now: () => numbers[NOW], most: options.players })
    const { playerId, recipients } = players
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
      if (sentInCall + cost > options.callBytes) {
        throw new TooMuch(`One call sends and writes at most ${options.callBytes} bytes.`)
      }
      if (cost * max(1, count) > numbers[ALLOWANCE]) {
        const { sentPerSecond, sentAtOnce } = options
        throw new TooMuch(
          `The room sends too much: at most ${sentPerSecond} bytes a second, and ${sentAtOnce} at once, times the players who get them.`,
        )
      }
      if (answering !== '') numbers[ANSWERED] = 1
      sentInCall += cost
      numbers[ALLOWANCE] -= cost * max(1, count)
      out += operation
    }

    const { state, keep, keepAll } = makeState({ options, nameOf, count: () => players.all().length, emit })
    const { schedule, runTimers, nextTimer } = makeTimers({ now: () => numbers[NOW], invoke })
    const setTimer = (ms, fn, isRepeated) => {
      if (answering !== '') numbers[ANSWERED] = 1
      return schedule(ms, fn, isRepeated)
    }

    const { log, report, beginTurn } = makeLog({ json, cut, write })

    const requests = makeRequests({ json, emit, mostBytes: options.frameBytes })
    const { request, answer, open: openRequests, isRequest } = requests
    const { track, reportAll } = makeRejections({
      report: (promise, reason, player) => report(reason, isRequest(promise) ? 'F' : 'E', player),
      count: (size) => {
        numbers[REJECTED] = size
      },
      playerNow: () => answering,
    })

    const FAILED = { __proto__: null }
    function invoke(fn, values) {
      numbers[CALLS]++
      sentInCall = 0
      try {
        return apply(fn, undefined, values)
      } catch (error) {
        report(error, 'E', answering)
        return FAILED
      }
    }
    /** Reports the rejection of what a handler of a player's message has returned. */
    function watch(result, player) {
      if (result instanceof NativePromise) apply(then, result, [undefined, (error) => report(error, 'E', player)])
    }

    const room = freeze({
      id: options.id,
      get players() {
        return players.all()
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
        if (!(bytes instanceof Bytes || bytes instanceof NativeBuffer)) {
          throw new TypeError('room.sendBinary takes a Uint8Array or an ArrayBuffer.')
        }
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
        request('score', () => [nameOf(board, 'The board'), playerId(player, true), value, detail]),
      saves: freeze({
        get: (player, key) => request('saves.get', () => [playerId(player, true), nameOf(key, 'The key')]),
        set: (player, key, value) =>
          request('saves.set', () => [playerId(player, true), nameOf(key, 'The key'), value]),
      }),
    })

    setClock({ now: () => numbers[NOW], random, log })

    const start = (module) => {
      const exported = (name) => (typeof module[name] === 'function' ? module[name] : null)
      const handlers = { __proto__: null }
      for (const name of ['open', 'join', 'message', 'binary', 'tick', 'leave', 'snapshot', 'restore', 'close']) {
        handlers[name] = exported(name)
      }
      /** Whether the room is over. The script then gets only answers to its requests. */
      let isClosed = false
      /** The exception of an asynchronous `open` or `restore`. @type {{ error: unknown } | null} */
      let openFailure = null
      const call = (name, values) => (handlers[name] === null ? undefined : invoke(handlers[name], values))

      function open(people, values, restored) {
        players.add(people)
        keepAll(values)
        out += readSettings(module.settings, handlers.snapshot !== null)
        numbers[CALLS]++
        sentInCall = 0
        // An exception here ends the room.
        const isRestored = typeof restored !== 'undefined' && handlers.restore !== null
        const opener = isRestored ? handlers.restore : handlers.open
        const result = opener === null ? undefined : apply(opener, undefined, isRestored ? [room, restored] : [room])
        if (result instanceof NativePromise) {
          const fail = (error) => {
            openFailure ??= { error }
          }
          apply(then, result, [undefined, fail])
        }
        if (isRestored) return
        // The script starts over, and meets those who are there already.
        const list = players.all()
        for (let at = 0; at < list.length; at++) call('join', [room, list[at]])
      }
      function join(player, question) {
        const { id } = player
        players.add([player])
        const verdict = call('join', [room, player])
        if (typeof verdict !== 'object' || verdict === null || verdict === FAILED) {
          if (isRefusal(verdict)) players.remove(id)
          return decide(question, verdict)
        }
        // It waits for something, such as a save. The player is not in the room until then.
        players.beginJoining(id)
        const end = (value) => {
          const left = players.endJoining(id, !isRefusal(value))
          decide(question, value)
          if (left !== null && !isRefusal(value)) call('leave', [room, player, left])
        }
        const fail = (error) => {
          report(error)
          end(FAILED)
        }
        apply(then, apply(resolve, NativePromise, [verdict]), [end, fail])
      }
      const isRefusal = (verdict) => verdict === FAILED || verdict === false || typeof verdict === 'string'
      function decide(question, verdict) {
        const reason = typeof verdict === 'string' ? cut(verdict, 200) : ''
        out += `V\t${question}\t${isRefusal(verdict) ? stringify(reason) : ''}\n`
      }
      function leave(id, reason) {
        const player = players.takeOut(id, reason)
        if (player !== undefined) call('leave', [room, player, reason])
      }
      function takeSnapshot() {
        if (handlers.snapshot === null) return
        const data = invoke(handlers.snapshot, [room])
        if (data === FAILED) return
        if (data instanceof NativePromise) return report(new TypeError('snapshot returns JSON, and no promise.'), 'F')
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
      function takeMessage(id, player, type, data) {
        numbers[CALLS]++
        sentInCall = 0
        answering = id
        try {
          const result = onMessage(room, player, type, data)
          if (typeof result === 'object') watch(result, id)
        } catch (error) {
          report(error, 'E', id)
        }
        answering = ''
      }
      function takeBytes(id, player, bytes, length) {
        const start = taken
        taken += length
        if (player === undefined) return
        answering = id
        watch(call('binary', [room, player, new Bytes(apply(sliceBuffer, bytes, [start, taken]))]), id)
        answering = ''
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
            const player = players.get(first)
            if (player !== undefined && onMessage !== null) takeMessage(first, player, events[at + 2], events[at + 3])
            return at + 4
          }
          case 't':
            if (!isClosed) call('tick', [room, first])
            return at + 2
          case 'b':
            takeBytes(first, players.get(first), bytes, events[at + 2])
            return at + 3
          case 'j':
            join(first, events[at + 2])
            return at + 3
          case 'l':
            leave(first, events[at + 2])
            return at + 3
          case 'p': {
            const player = players.get(first)
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
          case 'e':
            if (openFailure !== null) throw openFailure.error
            reportAll()
            return at + 1
          default:
            isClosed = true
            call('close', [room])
            return at + 1
        }
      }

      return (text, bytes) => {
        const events = parse(text)
        taken = 0
        for (let at = 0; at < events.length; ) {
          numbers[EVENT] = at
          at = handle(events, at, bytes)
        }
        if (!isClosed && events[0] !== 'e') {
          numbers[EVENT] = IN_TIMERS
          runTimers()
        }
        numbers[EVENT] = IN_REACTIONS
        beginTurn()
        numbers[NEXT_TIMER] = isClosed ? -1 : nextTimer()
        if (isClosed) out += `C\t${openRequests()}\n`
        const result = out
        out = ''
        return result
      }
    }
    return { start, track }
  }
})()
