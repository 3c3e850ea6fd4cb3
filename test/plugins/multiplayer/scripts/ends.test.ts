// The end of a room with a script: what the script does for its last players still counts.
import t from 'tap'
import { until } from '../../../kit/until.ts'
import { startScripts } from './kit.ts'

const SCRIPT = `
  let last
  export async function leave(room, player, reason) {
    last = player
    room.log('leave', player.id, reason)
    const visits = await room.saves.get(player, 'visits')
    await room.saves.set(player, 'visits', visits + 1)
    room.log('saved', player.id)
  }
  export function close(room) {
    room.log('close', room.players.length)
    room.score('week', last, 7)
    room.send('nobody', 'hears this')
    room.state.set('nobody', 'reads this')
    room.after(0, () => room.log('a timer'))
  }`

/** Keeps what scripts ask for. */
function keepRequests() {
  const asked: object[] = []
  const keep = async (request: object) => {
    asked.push(request)
    return 1
  }
  return { asked, backends: { submitScore: keep, readSave: keep, writeSave: keep } }
}

t.test('what a script logs, scores and saves when the last player leaves is done', async (t) => {
  const { asked, backends } = keepRequests()
  const { open, enter, lines, rooms } = startScripts(t, { backends })
  const hosted = await open(SCRIPT)
  const [ada, bob] = [await enter(hosted, 'ada'), await enter(hosted, 'bob')]
  const texts = () => lines.map(({ text }) => text)
  hosted.room.leave(ada.member, ada, 'left')
  await until(() => texts().includes('saved p1'))
  t.equal(rooms.find('game', 'lobby'), hosted)
  hosted.room.leave(bob.member, bob, 'left')
  t.equal(rooms.find('game', 'lobby'), undefined)
  await until(() => texts().includes('saved p2'))
  t.same(texts(), ['leave p1 left', 'saved p1', 'leave p2 left', 'close 0', 'saved p2'])
  t.match(asked, [
    { gameId: 'game', playerId: 'ada', key: 'visits' },
    { gameId: 'game', playerId: 'ada', key: 'visits', value: 2 },
    { gameId: 'game', playerId: 'bob', key: 'visits' },
    { gameId: 'game', boardId: 'week', playerId: 'bob', score: 7 },
    { gameId: 'game', playerId: 'bob', key: 'visits', value: 2 },
  ])

  // Another room of the same thread answers later.
  const next = await open('export function join(room) { room.log("next") }')
  await enter(next)
  await until(() => texts().includes('next'))
  t.notOk(texts().includes('a timer'), 'nothing runs in a room that is over')
})

t.test('a restart tells the script that its players have gone, and ends rooms without a script too', async (t) => {
  const { asked, backends } = keepRequests()
  const { open, enter, lines, rooms } = startScripts(t, { backends })
  const hosted = await open(SCRIPT)
  const players = [await enter(hosted, 'ada'), await enter(hosted, 'bob')]
  rooms.open('game', 'plain', { maxPlayers: 100, hostPatienceSeconds: 5, script: null })
  rooms.open('another', 'plain', { maxPlayers: 100, hostPatienceSeconds: 5, script: null })
  rooms.restart('game')
  for (const player of players) t.same(player.closed, { code: 1012, reason: 'restarted' })
  t.notOk(rooms.find('game', 'plain'))
  t.ok(rooms.find('another', 'plain'))
  const saved = () => asked.filter((request) => 'value' in request || 'score' in request)
  await until(() => saved().length === 3)
  t.same(lines.map(({ text }) => text).slice(0, 3), ['leave p1 closed', 'leave p2 closed', 'close 0'])
})

t.test('a server that stops waits for the scripts whose rooms have just ended', async (t) => {
  const { asked, backends } = keepRequests()
  const [reading, mayRead] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()]
  const readSave = () => {
    reading.resolve()
    return mayRead.promise
  }
  const { open, enter, scripts } = startScripts(t, { backends: { ...backends, readSave } })
  const hosted = await open(SCRIPT)
  const ada = await enter(hosted, 'ada')
  hosted.room.leave(ada.member, ada, 'left')
  await reading.promise
  const stopped = scripts.close()
  mayRead.resolve(1)
  await stopped
  t.match(asked, [{ boardId: 'week' }, { key: 'visits', value: 2 }])
})

t.test('a room that moves to another node does not close', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(SCRIPT)
  await enter(hosted)
  hosted.end()
  const next = await open('export function join(room) { room.log("next") }', { room: 'next' })
  await enter(next)
  await until(() => lines.length > 0)
  t.same(
    lines.map(({ text }) => text),
    ['next'],
  )
})

t.test('a script that fails as it closes harms nobody', async (t) => {
  const { open, enter, lines, rooms } = startScripts(t)
  const ended: string[] = []
  rooms.onEnded = ({ room }) => ended.push(room.id)
  const other = await open('export function message(room) { room.send("fine") }', { room: 'other' })
  const ada = await enter(other)
  const failures = ['for (;;);', 'throw new Error("gone")', 'room.saves.set("p1", "k", 1)']
  for (const close of failures) {
    const hosted = await open(`export function close(room) { ${close} }`, { room: close })
    const bob = await enter(hosted)
    hosted.room.leave(bob.member, bob, 'left')
    ada.send('still here')
    await ada.next('fine')
  }
  await until(() => lines.length === 3)
  const texts = lines.map(({ text }) => text).sort()
  t.match(texts, [/more than 20 ms/, 'Error: There are no scores and saves here.', 'Error: gone'])
  t.same(ended, failures, 'each ends once')
})
