// The rules of Coin Rush. This file runs on the platform, once for each room, where no player can change it.
export const settings = { tick: 20, players: 8 }

const SIZE = 600 // The field is a square.
const SPEED = 260 // How far a player comes in a second.
const ROUND = 60_000 // Milliseconds.
const steering = {} // Where players want to go, by their id: x and y from -1 to 1.
const between = (least, value, most) => Math.min(most, Math.max(least, value))
const part = (value) => (typeof value === 'number' ? between(-1, value, 1) : 0)
const newCoin = (room) => ({ x: 30 + room.random() * (SIZE - 60), y: 30 + room.random() * (SIZE - 60) })
const newPlayer = ({ name, index }) => ({ name, index, x: SIZE / 2, y: SIZE / 2, points: 0 })

export function open(room) {
  const coins = Array.from({ length: 8 }, () => newCoin(room))
  room.state.assign({ players: {}, coins, endsAt: room.now() + ROUND, results: [] })
}

/** The shared state outlives the machine that this runs on. Of our variables, another machine gets this. */
export const snapshot = () => steering

export function restore(room, data) {
  const players = room.state.get('players')
  for (const { id } of room.players) if (data[id]) steering[id] = data[id]
  const present = room.players.map((player) => [player.id, players[player.id] ?? newPlayer(player)])
  room.state.set('players', Object.fromEntries(present))
  for (const result of room.state.get('results')) record(room, result)
}

/** A player has one place. In another tab perhaps, the same player gives up the former one. */
export function join(room, player) {
  for (const { id, sub } of room.players) if (sub === player.sub && id !== player.id) room.kick(id, 'replaced')
  room.state.set('players', { ...room.state.get('players'), [player.id]: newPlayer(player) })
}

/** A player may send anything, as often as the platform allows: nothing of it is taken as it comes. */
export function message(_room, player, type, data) {
  if (type !== 'steer') return
  steering[player.id] = { x: part(data?.x), y: part(data?.y) }
}

export function tick(room, seconds) {
  const players = room.state.get('players')
  const coins = room.state.get('coins')
  const moving = Object.entries(steering).filter(([, { x, y }]) => x !== 0 || y !== 0)
  for (const [id, { x, y }] of moving) {
    const player = players[id]
    player.x = between(14, player.x + x * SPEED * seconds, SIZE - 14)
    player.y = between(14, player.y + y * SPEED * seconds, SIZE - 14)
    const found = coins.findIndex((coin) => Math.hypot(coin.x - player.x, coin.y - player.y) < 28)
    if (found === -1) continue
    coins[found] = newCoin(room)
    player.points += 1
    room.state.set('coins', coins)
  }
  if (moving.length > 0) room.state.set('players', players)
  if (room.now() >= room.state.get('endsAt')) endRound(room)
}

function endRound(room) {
  const players = room.state.get('players')
  const results = room.players.map(({ id }) => ({ id, round: room.state.get('endsAt'), points: players[id].points }))
  for (const player of Object.values(players)) player.points = 0
  room.state.assign({ players, results, endsAt: room.now() + ROUND })
  for (const result of results) record(room, result)
}

/** Puts a result on the leaderboard, which only this script can write. Players could write their saves themselves. */
async function record(room, { id, round, points }) {
  try {
    const { best } = await room.score('coins', id, points)
    room.send('end', { points, best }, id)
  } catch (error) {
    room.log(`The result of ${id} is not kept: ${error.message}`) // Guests have no results.
  }
  const results = room.state.get('results').filter((one) => one.id !== id || one.round !== round)
  room.state.set('results', results)
}

export function leave(room, player) {
  delete steering[player.id]
  room.state.set('players', { ...room.state.get('players'), [player.id]: undefined }) // Undefined is left out.
}
