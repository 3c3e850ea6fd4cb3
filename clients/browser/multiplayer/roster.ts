import type { Player, RoomEvents } from './types.ts'

/** A player as the server describes them. Servers of an earlier version leave out `away`. */
export type PlayerData = Omit<Player, 'away'> & { away?: boolean }

/** An event, by its name and values. */
export type Emission = { [Name in keyof RoomEvents]: [Name, ...RoomEvents[Name]] }[keyof RoomEvents]

/** The players of a room, in order of arrival, and its host. */
export class Roster {
  hostId = ''
  #players = new Map<string, Player>()

  get players(): Player[] {
    return [...this.#players.values()]
  }

  get host(): Player | undefined {
    return this.#players.get(this.hostId)
  }

  get(id: string): Player | undefined {
    return this.#players.get(id)
  }

  byIndex(index: number): Player | undefined {
    for (const player of this.#players.values()) if (player.index === index) return player
    return undefined
  }

  add(data: PlayerData): Player {
    const player = { ...data, away: data.away ?? false }
    this.#players.set(player.id, player)
    return player
  }

  remove(id: string): void {
    this.#players.delete(id)
  }

  /**
   * Takes over another list of players, after frames were missed.
   *
   * @param before the id of this player so far @param you the present one
   * @returns the events that tell the differences. A player who stays is the same object
   */
  replace(list: PlayerData[], host: string, { before, you }: { before: string; you: string }): Emission[] {
    const [old, hostBefore] = [this.#players, this.host]
    const emissions: Emission[] = []
    this.#players = new Map()
    for (const data of list) {
      const known = old.get(data.id)
      const stays = known?.sub === data.sub && known.joinedAt === data.joinedAt
      if (!stays) {
        const player = this.add(data)
        if (player.id !== you) emissions.push(['join', player])
        continue
      }
      old.delete(data.id)
      const [was, away] = [{ ...known }, data.id !== you && (data.away ?? false)]
      this.#players.set(data.id, Object.assign(known, data, { away }))
      if (was.name !== data.name || was.imageUrl !== data.imageUrl) emissions.push(['profile', known])
      if (JSON.stringify(was.data) !== JSON.stringify(data.data)) emissions.push(['presence', known, data.data])
      if (was.away !== away) emissions.push([away ? 'away' : 'back', known])
    }
    const gone = [...old.values()].filter(({ id }) => id !== before)
    this.hostId = host
    if (this.host !== hostBefore) emissions.push(['host', this.host])
    return [...gone.map((player): Emission => ['leave', player, 'gone']), ...emissions]
  }
}

/**
 * Returns the event that tells the differences of two states, or none.
 *
 * @param state the present state, with its version
 */
export function stateEmission(before: ReadonlyMap<string, unknown>, state: Record<string, unknown>): Emission[] {
  const changed = Object.entries(state).filter(([key, value]) => {
    return !before.has(key) || JSON.stringify(before.get(key)) !== JSON.stringify(value)
  })
  const del = [...before.keys()].filter((key) => !Object.hasOwn(state, key))
  return changed.length + del.length > 0 ? [['state', Object.fromEntries(changed), del, undefined]] : []
}
