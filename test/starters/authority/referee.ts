interface Place {
  x: number
  y: number
}

interface Seen extends Place {
  name: string
  index: number
  points: number
}

/** The rules of the starter, as its room.js has them. */
const EDGE = [14, 586] as const
const REACH = 28
/** The parts of the highest speed with which the honest player goes along each axis. */
export const PACE = { x: 1, y: 0.5 } as const
const KEYS = new Set(['players', 'coins', 'endsAt', 'results'])

/**
 * Checks each frame that an honest player receives against the rules of Coin Rush: who moves, how far, and who gets
 * points for what. It knows nothing of the script but its rules.
 */
export class Referee {
  /** What was against the rules, each with the frame. */
  readonly violations: string[] = []
  /** The results of finished rounds. */
  readonly results: { sub: string; points: number }[] = []
  /** The number of frames in which the honest player's step could be compared with others'. */
  compared = 0
  #players: Record<string, Seen> = {}
  #coins: Place[] = []
  #taken: Place[] = []
  readonly #honest: string
  readonly #people = new Map<string, { sub: string; name: string; index: number }>()

  /** @param welcome the frame with which the honest player came in */
  // biome-ignore lint/suspicious/noExplicitAny: frames of any type
  constructor(welcome: any) {
    this.#honest = welcome.you
    for (const player of welcome.players) this.#people.set(player.id, player)
    this.#players = welcome.state.players
    this.#coins = welcome.state.coins
  }

  /** Returns where a player is; undefined for one who is not there. */
  placeOf(id: string): Place | undefined {
    return this.#players[id]
  }

  // biome-ignore lint/suspicious/noExplicitAny: frames of any type
  receive(frame: any): void {
    const wrong = (what: string) => this.violations.push(`${what}: ${JSON.stringify(frame).slice(0, 300)}`)
    if (frame.t === 'join') this.#people.set(frame.player.id, frame.player)
    if ((frame.t === 'msg' || frame.t === 'state') && frame.from !== null) wrong('a player speaks for the script')
    if (frame.t === 'msg' && frame.type !== 'end') wrong('a message that the script does not know')
    if (frame.t === 'presence' || frame.t === 'binary' || frame.t === 'host') wrong('a frame that no script sent')
    if (frame.t === 'leave' && frame.id === this.#honest) wrong('the honest player was sent away')
    if (frame.t !== 'state') return
    const { set, del } = frame
    if (del.length > 0 || Object.keys(set).some((key) => !KEYS.has(key))) wrong('a foreign key')
    if (set.coins) this.#take(set.coins, wrong)
    if (set.results && set.players) this.#endRound(set, wrong)
    else if (set.players) this.#move(set.players, wrong)
  }

  #take(coins: Place[], wrong: (what: string) => void): void {
    const gone = this.#coins.filter(({ x, y }, at) => coins[at]?.x !== x || coins[at]?.y !== y)
    const most = Object.keys(this.#players).length
    if (coins.length !== 8 || gone.length < 1 || gone.length > most) wrong(`${gone.length} coins were replaced`)
    this.#taken.push(...gone)
    this.#coins = coins
  }

  #move(players: Record<string, Seen>, wrong: (what: string) => void): void {
    // In each frame all players have moved for the same time.
    const reference = this.#wholeStep(players)
    if (reference > 0) this.compared++
    for (const [id, player] of Object.entries(players)) {
      const { x, y, name, index, points, ...rest } = player
      const before = this.#players[id]
      const person = this.#people.get(id)
      // A player is in the state from the script's admission on, and joins when the socket is open.
      if (person && (person.name !== name || person.index !== index)) wrong(`${id} is somebody else`)
      if (Object.keys(rest).length > 0) wrong(`${id} has more than the script gives`)
      if (![x, y].every((value) => value >= EDGE[0] && value <= EDGE[1])) wrong(`${id} is out of the field`)
      if (reference > 0 && this.#stepOf(id, players) > reference + 1e-6) wrong(`${id} is too fast`)
      if (points === (before?.points ?? 0)) continue
      const at = this.#taken.findIndex((coin) => Math.hypot(coin.x - x, coin.y - y) < REACH)
      if (points !== (before?.points ?? 0) + 1 || at === -1) wrong(`${id} got points for nothing`)
      this.#taken.splice(at, 1)
    }
    if (!players[this.#honest]) wrong('the honest player is gone')
    if (this.#taken.length > 0) wrong('a coin was taken by nobody')
    this.#taken = []
    this.#players = players
  }

  /** Returns how far a player came along one axis, the farther one. */
  #stepOf(id: string, players: Record<string, Seen>): number {
    const [before, after] = [this.#players[id], players[id]]
    if (!before || !after) return 0
    return Math.max(Math.abs(after.x - before.x), Math.abs(after.y - before.y))
  }

  /** Returns how far one comes at the highest speed, from the honest player's step; 0 where the edge cut it off. */
  #wholeStep(players: Record<string, Seen>): number {
    const [before, after] = [this.#players[this.#honest], players[this.#honest]]
    if (!before || !after) return 0
    const steps = (['x', 'y'] as const).map((axis) =>
      EDGE.includes(after[axis] as never) ? 0 : Math.abs(after[axis] - before[axis]) / PACE[axis],
    )
    return Math.max(...steps)
  }

  #endRound(
    { players, results }: { players: Record<string, Seen>; results: { id: string; points: number; round: number }[] },
    wrong: (what: string) => void,
  ): void {
    for (const { id, points } of results) {
      if (points !== this.#players[id]?.points) wrong(`${id} has a result of somebody else`)
      const sub = this.#people.get(id)?.sub
      if (sub) this.results.push({ sub, points })
    }
    if (Object.values(players).some(({ points }) => points !== 0)) wrong('a round begins with points')
    this.#players = players
  }
}
