/**
 * The bridge to game engines, whose code runs in WebAssembly and has no objects of JavaScript. `clients/engines/` has the
 * scripts for Unity, Godot, and C or Rust. Everything crosses as numbers and texts:
 *
 *   const engine = connect((id, isFine, json) => …, (room, from, bytes) => …)
 *   engine.session(1)              // (1, true, '{"signedIn":true,"id":"…","name":"Ada","imageUrl":"…"}')
 *   engine.join(2, 7, 'lobby')     // (2, true, '{"me":"…","capacity":100}'); then the events of room 7 as (-7, true, …)
 *   engine.send(7, 'move', '{"x":1}', '')
 *
 * A call takes a number that its caller chooses, above 0, and is answered once with that number: with the result, or with
 * `{ code, message }`. An event of a room comes with the negative number of the room. Data of the game, such as a
 * message's, stays JSON text within the JSON, so that its receiver can parse it into a type of its own.
 */
import type * as Multiplayer from './multiplayer.ts'
import { readSession, startUrl } from './player/session.ts'
import type * as Saves from './saves.ts'
import type * as Scores from './scores.ts'

/** Receives answers and events. `json` is an object. */
export type Receive = (id: number, isFine: boolean, json: string) => void
/** Receives bytes that a player of a room has sent. `from` is the player's id, or empty for a room script. */
export type ReceiveBytes = (room: number, from: string, bytes: Uint8Array) => void

/** Loads another script of the platform, from the game's own origin. */
const load = <Module>(name: string): Promise<Module> => import(`/__service/${name}.js`)

/** Opens the bridge. `receive` is never called within a call. */
export const connect = (receive: Receive, receiveBytes: ReceiveBytes): Engine => new Engine(receive, receiveBytes)

export class Engine {
  readonly #receive: Receive
  readonly #receiveBytes: ReceiveBytes
  readonly #rooms = new Map<number, Multiplayer.Room>()

  constructor(receive: Receive, receiveBytes: ReceiveBytes) {
    this.#receive = receive
    this.#receiveBytes = receiveBytes
  }

  /** Answers with who plays: `{ signedIn, id, name, imageUrl }`, with empty texts where nobody is signed in. */
  session(id: number): void {
    void this.#answer(id, async () => {
      const user = (await readSession())?.user
      return { signedIn: Boolean(user), id: user?.id ?? '', name: user?.name ?? '', imageUrl: user?.imageUrl ?? '' }
    })
  }

  /** Leads to the sign-in and back to this page. In a frame it must be called by a key or click of the player. */
  signIn(): void {
    // A click on a link, which the platform's script handles in a frame.
    const link = Object.assign(document.createElement('a'), { href: startUrl() })
    document.body.append(link)
    link.click()
    link.remove()
  }

  /** Signs the player out, and loads the page again. */
  signOut(id: number): void {
    void this.#answer(id, async () => {
      await fetch('/auth/service/logout', { method: 'POST', redirect: 'manual' })
      location.reload()
      return {}
    })
  }

  /**
   * Enters a room. The answer is `{ me, capacity }`, and the first events follow: `players` and `state`.
   *
   * @param room the number for this room, above 0 and not in use
   */
  join(id: number, room: number, name: string): void {
    const enter = async () => {
      if (this.#rooms.has(room)) throw Object.assign(new Error(`The room ${room} is in use.`), { code: 'in_use' })
      const { join } = await load<typeof Multiplayer>('multiplayer')
      const entered = await join(name)
      this.#rooms.set(room, entered)
      return entered
    }
    const entering = enter()
    const answered = this.#answer(id, async () => {
      const { me, capacity } = await entering
      return { me: me.id, capacity }
    })
    // The events come after the answer. Nothing here waits, so that no frame of the socket is missed.
    void answered
      .then(() => entering)
      .then(
        (entered) => this.#follow(room, entered),
        () => {},
      )
  }

  /** Leaves a room. Its last event is `left`. */
  leave(room: number): void {
    this.#rooms.get(room)?.leave()
  }

  /** Sends a message. @param json its data @param to empty for all others, `all`, `host`, or ids with commas between */
  send(room: number, type: string, json: string, to: string): void {
    const receivers = to === 'all' || to === 'host' ? to : to === '' ? undefined : to.split(',')
    this.#say(room, json, (entered, data) => entered.send(type, data, receivers))
  }

  /** Sends bytes to all other players, for data that changes many times a second. */
  sendBytes(room: number, bytes: Uint8Array): void {
    // A copy, since the memory of WebAssembly may be shared, or move.
    this.#rooms.get(room)?.sendBinary(bytes.slice())
  }

  /** Writes a key of the state that all players share. The event `state` follows. */
  setState(room: number, key: string, json: string): void {
    this.#say(room, json, (entered, value) => entered.state.set(key, value))
  }

  deleteState(room: number, key: string): void {
    this.#rooms.get(room)?.state.delete(key)
  }

  /** Sets this player's data, which the others see in the event `players`. */
  presence(room: number, json: string): void {
    this.#say(room, json, (entered, data) => entered.presence(data))
  }

  /** Returns the time of the server in ms since 1970; 0 outside of the room. */
  now(room: number): number {
    return this.#rooms.get(room)?.now() ?? 0
  }

  /** Answers with a save, `{ exists, value }`; `value` is JSON text. */
  saveGet(id: number, key: string): void {
    void this.#answer(id, async () => {
      const { saves } = await load<typeof Saves>('saves')
      const value = await saves.get(key)
      return { exists: value !== undefined, value: textOf(value) }
    })
  }

  /** Saves JSON. Answers `{}` once it can't be lost any more. */
  saveSet(id: number, key: string, json: string): void {
    void this.#answer(id, async () => {
      const { saves } = await load<typeof Saves>('saves')
      await saves.set(key, parsed(json))
      return {}
    })
  }

  saveDelete(id: number, key: string): void {
    void this.#answer(id, async () => {
      const { saves } = await load<typeof Saves>('saves')
      await saves.delete(key)
      return {}
    })
  }

  /**
   * Submits a score. Answers `{ sent, score, best, rank, total, improved }`. Without a connection `sent` is false, and
   * the score is sent later.
   *
   * @param json shown with the score; empty for nothing
   */
  scoreSubmit(id: number, board: string, score: number, json: string): void {
    void this.#answer(id, async () => {
      const scores = await load<typeof Scores>('scores')
      const submitted = await scores.board(board).submit(score, parsed(json))
      return submitted ? { sent: true, ...submitted } : { sent: false }
    })
  }

  /** Answers with the first entries: `{ entries: [{ rank, score, id, name, me }], total, rank }`; `rank` is one's own. */
  scoreTop(id: number, board: string, limit: number): void {
    void this.#answer(id, async () => listOf(await (await load<typeof Scores>('scores')).board(board).top(limit)))
  }

  /** Answers with the entries around the player, in the same form. */
  scoreAround(id: number, board: string, limit: number): void {
    void this.#answer(id, async () => listOf(await (await load<typeof Scores>('scores')).board(board).around(limit)))
  }

  /** Does something in a room with parsed JSON. Text that is no JSON is an event `error`: nothing may throw into an engine. */
  #say(room: number, json: string, act: (entered: Multiplayer.Room, value: unknown) => void): void {
    const entered = this.#rooms.get(room)
    if (!entered) return
    try {
      act(entered, parsed(json))
    } catch (error) {
      this.#receive(-room, true, JSON.stringify({ event: 'error', code: 'invalid_json', message: String(error) }))
    }
  }

  /** Turns the events of a room into events of the bridge. */
  #follow(room: number, entered: Multiplayer.Room): void {
    const tell = (event: string, fields: object = {}) =>
      this.#receive(-room, true, JSON.stringify({ event, ...fields }))
    const tellPlayers = () =>
      tell('players', {
        players: entered.players.map(({ id, name, imageUrl, data }) => ({
          id,
          name,
          imageUrl: imageUrl ?? '',
          data: textOf(data),
          isMe: id === entered.me.id,
          isHost: id === entered.host?.id,
        })),
      })
    /** @param all whether these are all keys, so that others are gone */
    const tellState = (values: Iterable<[string, unknown]>, removed: string[], all = false) =>
      tell('state', { all, set: Array.from(values, ([key, value]) => ({ key, value: textOf(value) })), removed })
    tellPlayers()
    tellState(entered.state.entries(), [], true)
    for (const name of ['join', 'leave', 'away', 'back', 'host', 'presence', 'profile'] as const)
      entered.on(name, tellPlayers)
    entered.on('message', (type, data, from) => tell('message', { type, data: textOf(data), from: from?.id ?? '' }))
    entered.on('binary', (bytes, from) => this.#receiveBytes(room, from?.id ?? '', bytes))
    entered.on('state', (set, removed) => tellState(Object.entries(set), removed))
    entered.on('error', ({ code, message }) => tell('error', { code, message }))
    entered.on('reconnecting', () => tell('reconnecting'))
    entered.on('reconnected', ({ missed }) => {
      tell('reconnected', { missed })
      if (!missed) return
      tellPlayers()
      tellState(entered.state.entries(), [], true)
    })
    entered.on('left', (reason) => {
      this.#rooms.delete(room)
      tell('left', { reason })
    })
  }

  /** Answers a call by the result of `work`, or by its error. */
  #answer(id: number, work: () => Promise<object>): Promise<void> {
    return work().then(
      (result) => this.#receive(id, true, JSON.stringify(result)),
      (error) => {
        const { code = 'failed', message = String(error) } = error as { code?: string; message?: string }
        this.#receive(id, false, JSON.stringify({ code: String(code), message }))
      },
    )
  }
}

const listOf = ({ entries, total, me }: Scores.ScoreList): object => ({
  entries: entries.map(({ rank, score, player, me }) => ({ rank, score, id: player.sub, name: player.name, me })),
  total,
  rank: me?.rank ?? 0,
})

/** Parses JSON of the engine; empty text is nothing. @throws SyntaxError */
const parsed = (json: string): unknown => (json === '' ? undefined : JSON.parse(json))

/** Returns a value as JSON text; empty for what is nothing, or no JSON. */
const textOf = (value: unknown): string => (value === undefined ? '' : (JSON.stringify(value) ?? ''))
