// The players of a room, those about to be in it, and who gets a message. See prelude.js.
;(() => {
  const { isArray } = Array
  const { apply } = Reflect
  const { min } = Math
  const { freeze, keys } = Object
  const number = parseInt
  const { slice } = String.prototype
  const NativeTypeError = TypeError
  /** How long after a player has left there are scores and saves for them, in ms. */
  const FAREWELL_MS = 10_000
  const WHO = 'Give one of room.players, the id of one'

  return ({ now, most }) => {
    // By their ids. An object without prototype is faster than a map, whose methods have to be applied.
    const players = { __proto__: null }
    /** Players whose `join` waits for something. @type {Record<string, { player: object, left: string | null }>} */
    const joining = { __proto__: null }
    let list = freeze([])
    /** The times at which players left, by their ids. */
    const leftAt = { __proto__: null }
    /** The number in the highest id so far: ids are `p1` to `p9`, `pa` and so on, and none is used twice. */
    let highest = 0

    function relist() {
      const ids = keys(players)
      const next = []
      for (let at = 0; at < ids.length; at++) next[at] = players[ids[at]]
      list = freeze(next)
    }
    const numberOf = (id) => number(apply(slice, id, [1]), 36)
    /** Adds players who are in the room. */
    function add(people) {
      for (let at = 0; at < people.length; at++) {
        const player = people[at]
        players[player.id] = player
        if (numberOf(player.id) > highest) highest = numberOf(player.id)
      }
      relist()
    }
    function remove(id) {
      delete players[id]
      relist()
    }
    /** Takes a player out of the list until `endJoining`. */
    function beginJoining(id) {
      joining[id] = { player: players[id], left: null }
      remove(id)
    }
    /** @returns the reason with which the player has left meanwhile; null when they have not */
    function endJoining(id, isAdmitted) {
      const { player, left } = joining[id]
      delete joining[id]
      if (isAdmitted && left === null) add([player])
      return left
    }
    function hasJustLeft(id) {
      return leftAt[id] !== undefined && now() - leftAt[id] <= FAREWELL_MS
    }
    /** Removes a player who has left. @returns the player; undefined when `leave` is not to be called now */
    function takeOut(id, reason) {
      for (const other of keys(leftAt)) if (!hasJustLeft(other)) delete leftAt[other]
      leftAt[id] = now()
      if (joining[id] !== undefined) joining[id].left = reason
      const player = players[id]
      if (player !== undefined) remove(id)
      return player
    }

    const isHere = (id) => players[id] !== undefined || joining[id] !== undefined
    const idIn = (player) => (typeof player === 'object' && player !== null ? player.id : player)
    /** Whether an id was that of a player who has left. */
    const isFormer = (id) => id[0] === 'p' && numberOf(id) <= highest
    const shown = (id) => (typeof id === 'string' ? `"${apply(slice, id, [0, 40])}"` : `of type ${typeof id}`)

    /** Returns the id of a player who is here. @param {boolean} mayHaveLeft whether one who has just left will do */
    function playerId(player, mayHaveLeft = false) {
      const id = idIn(player)
      if (typeof id === 'string' && (isHere(id) || (mayHaveLeft && hasJustLeft(id)))) return id
      const error = new NativeTypeError(`There is no player ${shown(id)} in the room. ${WHO}.`)
      error.code = 'no_such_player'
      throw error
    }
    /** Returns the id of a recipient; an empty text when the player has left. */
    function recipient(to) {
      const id = idIn(to)
      if (typeof id === 'string' && isHere(id)) return id
      if (typeof id === 'string' && isFormer(id)) return ''
      throw new NativeTypeError(`There is no player ${shown(id)} in the room. ${WHO}, a list of them, or 'all'.`)
    }
    function recipients(to) {
      if (to === undefined || to === 'all') return { ids: '*', count: list.length }
      if (!isArray(to)) {
        const id = recipient(to)
        return { ids: id, count: id === '' ? 0 : 1 }
      }
      let ids = ''
      let count = 0
      const length = min(to.length, most)
      for (let at = 0; at < length; at++) {
        const id = recipient(to[at])
        if (id === '') continue
        ids += ids === '' ? id : `,${id}`
        count++
      }
      return { ids, count }
    }
    const get = (id) => players[id]
    const all = () => list
    return { get, all, add, remove, beginJoining, endJoining, takeOut, playerId, recipients }
  }
})()
