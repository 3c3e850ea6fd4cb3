// A script that decides on admission with what it has to wait for, such as a save.
import t from 'tap'
import { startScripts } from './kit.ts'

/** Saves whose answers a test gives. */
function heldSaves() {
  const asked: { key: string; answer: (value: unknown) => void; playerId: string }[] = []
  const readSave = ({ key, playerId }: { key: string; playerId: string }) =>
    new Promise((answer) => asked.push({ key, answer, playerId }))
  const next = async () => {
    while (asked.length === 0) await new Promise((go) => setImmediate(go))
    return asked.shift() as (typeof asked)[0]
  }
  return { next, backends: { submitScore: async () => 1, readSave, writeSave: async () => 1 } }
}

const SCRIPT = `
  export async function join(room, player) {
    const ban = await room.saves.get(player, 'ban')
    if (ban === 'throws') throw new Error('no')
    if (ban === 'false') return false
    if (ban) return ban
    room.state.set(player.id, { name: player.name })
    room.send('hello', room.players.length, player)
  }
  export function message(room, player, type) {
    for (const { id } of room.players) room.state.get(id).name
    if (type === 'kick') room.kick('p2')
    room.send('players', room.players.map(({ sub }) => sub))
  }
  export function leave(room, player, reason) { room.send('gone', [player.sub, reason]) }`

t.test('a join that waits for a save refuses, and the room goes on meanwhile', async (t) => {
  const { next, backends } = heldSaves()
  const { open, enter, lines } = startScripts(t, { backends })
  const hosted = await open(SCRIPT)
  const admitted = async (sub: string, ban: unknown) => {
    const entering = enter(hosted, sub)
    entering.catch(() => {})
    const { answer } = await next()
    answer(ban)
    return entering
  }
  const ada = await admitted('ada', null)
  t.equal((await ada.next('hello')).data, 0)
  const asking = enter(hosted, 'eve')
  asking.catch(() => {})
  const { answer } = await next()
  ada.send('who')
  t.same((await ada.next('players')).data, ['ada'], 'nobody is in the room before it is decided')
  answer('You are banned.')
  await t.rejects(asking, /refused: script You are banned\./)
  await t.rejects(admitted('mallory', 'false'), /refused: script $/)
  t.same(lines, [])
  await t.rejects(admitted('trent', 'throws'), /refused: script $/)
  t.match(lines, [{ level: 'error', text: 'Error: no', line: 4 }])
  const bob = await admitted('bob', null)
  await bob.next('hello')
  ada.send('who')
  t.same((await ada.next('players')).data, ['ada', 'bob'])
  t.notOk(
    ada.received.some(({ type }) => type === 'gone'),
    'nobody has left who was not admitted',
  )
})

t.test('a player who is removed while join waits is not admitted, and leaves', async (t) => {
  const { next, backends } = heldSaves()
  const { open, enter } = startScripts(t, { backends })
  const hosted = await open(SCRIPT)
  const first = enter(hosted, 'ada')
  ;(await next()).answer(null)
  const ada = await first
  const second = enter(hosted, 'bob')
  second.catch(() => {})
  const { answer } = await next()
  ada.send('kick')
  await ada.next('players')
  answer(null)
  await t.rejects(second, /refused: kicked/)
  t.same((await ada.next('gone')).data, ['bob', 'kicked'])
  t.equal(hosted.room.members.taken, 1)
})

t.test('a join that never decides refuses after ten seconds, with a line in the log', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`
    export const join = (room, player) => (player.sub === 'eve' ? new Promise(() => {}) : undefined)
    export function message(room) { room.send('fine', room.players.length) }`)
  const ada = await enter(hosted, 'ada')
  const refused = t.rejects(enter(hosted, 'eve'), /refused: failed/)
  ada.send('still here')
  t.equal((await ada.next('fine')).data, 1)
  await refused
  t.match(lines, [{ level: 'error', text: 'The script did not decide within 10 seconds whether EVE may join.' }])
  t.equal(hosted.room.members.taken, 1)
})
