import fc from 'fast-check'
import t from 'tap'
import type { Member } from '../../../plugins/multiplayer/room/member.ts'
import { type Snapshot, snapshotFrom } from '../../../plugins/multiplayer/room/snapshot.ts'
import { SEED } from '../../kit/seed.ts'
import { makeRoom, type RecordingLink } from './room-kit.ts'

t.test('who comes in is welcomed, and the others hear of it', async (t) => {
  const { enter, clock } = makeRoom()
  const ada = enter('ada')
  t.match(ada.connection.take(), [
    {
      t: 'welcome',
      v: 1,
      you: 'p1',
      room: { id: 'lobby', host: 'p1', capacity: 5, locked: false },
      players: [{ id: 'p1', index: 0, sub: 'ada', name: 'ADA', imageUrl: null, data: null, joinedAt: /Z$/ }],
      state: {},
      version: 0,
      resume: 'token1',
      now: clock.now().getTime(),
      replay: null,
    },
  ])
  ada.say({ t: 'state', set: { score: 3, __proto__: 1 } })
  ada.say({ t: 'presence', data: { colour: 'red' } })
  const bob = enter('bob')
  t.match(bob.connection.take()[0], {
    you: 'p2',
    room: { host: 'p1' },
    players: [{ id: 'p1', data: { colour: 'red' } }, { id: 'p2' }],
    state: { score: 3 },
    version: 1,
  })
  t.match(ada.connection.take().at(-1), { t: 'join', player: { id: 'p2', index: 1, sub: 'bob' } })
})

t.test('messages reach whom they are for', async (t) => {
  const { enter } = makeRoom()
  const [ada, bob, eve] = [enter('ada'), enter('bob'), enter('eve')]
  const received = () =>
    [ada, bob, eve].map(({ connection }) => connection.take().map(({ data, from }) => [data, from]))
  received()
  bob.say({ t: 'send', type: 'x', data: 1 })
  t.same(received(), [[[1, 'p2']], [], [[1, 'p2']]], 'everyone else')
  bob.say({ t: 'send', type: 'x', data: 2, to: 'all' })
  t.same(received(), [[[2, 'p2']], [[2, 'p2']], [[2, 'p2']]])
  bob.say({ t: 'send', type: 'x', data: 3, to: 'host' })
  t.same(received(), [[[3, 'p2']], [], []])
  bob.say({ t: 'send', type: 'x', data: 4, to: ['p3', 'p3', 'p9'] })
  t.same(received(), [[], [], [[4, 'p2']]], 'each once, strangers ignored')
})

t.test('bytes are passed on with the sender’s index', async (t) => {
  const { room, enter } = makeRoom()
  const [ada, bob] = [enter('ada'), enter('bob')]
  ada.connection.take()
  bob.connection.take()
  room.receiveBinary(bob.member, Buffer.from('abc'))
  t.same(ada.connection.take(), [{ t: 'binary', index: 1, bytes: 'abc' }])
  t.same(bob.connection.take(), [])
})

t.test('the shared state has versions, and compares before it sets', async (t) => {
  const { enter } = makeRoom()
  const [ada, bob] = [enter('ada'), enter('bob')]
  ada.connection.take()
  bob.connection.take()
  ada.say({ t: 'state', set: { a: 1, b: 2 }, if: 0 })
  const written = [{ t: 'state', from: 'p1', set: { a: 1, b: 2 }, del: [], version: 1 }]
  t.same(ada.connection.take(), written, 'the writer hears it too')
  t.same(bob.connection.take(), written)
  bob.say({ t: 'state', set: { a: 9 }, if: 0 })
  t.match(bob.connection.take(), [{ t: 'error', code: 'conflict', version: 1 }])
  t.same(ada.connection.take(), [])
  bob.say({ t: 'state', del: ['a', 'nothing'], if: 1 })
  t.match(ada.connection.take(), [{ set: {}, del: ['a', 'nothing'], version: 2 }])
  bob.say(JSON.parse('{ "t": "state", "set": { "__proto__": { "x": 1 }, "constructor": 2 } }'))
  t.match(enter('eve').connection.received[0].state, { b: 2, constructor: 2 })
  t.same(Object.keys(enter('dan').connection.received[0].state), ['b', '__proto__', 'constructor'])
})

t.test('a state that would grow too large is refused whole', async (t) => {
  const { enter } = makeRoom()
  const ada = enter('ada')
  ada.say({ t: 'state', set: { a: 'x'.repeat(900) } })
  ada.connection.take()
  ada.say({ t: 'state', set: { b: 'y'.repeat(100) } })
  t.match(ada.connection.take(), [{ t: 'error', code: 'state_too_large', version: 1 }])
  ada.say({ t: 'state', set: { b: 'y'.repeat(100) }, del: ['a'] })
  t.match(ada.connection.take(), [{ t: 'state', version: 2 }])
  ada.say({ t: 'presence', data: 'x'.repeat(300) })
  t.match(ada.connection.take(), [{ t: 'error', code: 'presence_too_large' }])
})

t.test('the earliest player is host, then the next', async (t) => {
  const { room, enter } = makeRoom()
  const [ada, bob, eve] = [enter('ada'), enter('bob'), enter('eve')]
  bob.connection.take()
  room.leave(ada.member, ada.connection, 'left')
  t.match(bob.connection.take(), [
    { t: 'leave', id: 'p1', reason: 'left' },
    { t: 'host', id: 'p2' },
  ])
  room.drop(eve.member, eve.connection)
  const dan = enter('dan')
  room.leave(bob.member, bob.connection, 'left')
  t.equal(room.host, dan.member.id, 'one who is away does not become host while another is there')
  t.equal(dan.member.index, 0, 'and a free index is taken again')
})

t.test('the host kicks, locks and hands over; nobody else does', async (t) => {
  const { room, enter } = makeRoom()
  const [ada, bob, eve] = [enter('ada'), enter('bob'), enter('eve')]
  for (const message of [
    { t: 'kick', id: 'p1' },
    { t: 'lock', locked: true },
    { t: 'host', id: 'p2' },
  ]) {
    bob.connection.take()
    bob.say(message)
    t.match(bob.connection.take(), [{ t: 'error', code: 'not_host' }])
  }
  ada.say({ t: 'lock', locked: true })
  t.equal(room.refusal({ sub: 'dan' }), 'locked')
  ada.say({ t: 'lock', locked: false })
  ada.connection.take()
  ada.say({ t: 'kick', id: 'p2' })
  t.match(bob.connection.take(), [{ t: 'leave', id: 'p2', reason: 'kicked' }])
  t.equal(bob.connection.closed, 4001)
  t.match(ada.connection.take(), [{ t: 'leave', id: 'p2', reason: 'kicked' }])
  t.equal(room.refusal({ sub: 'bob' }), 'kicked', 'and stays out')
  ada.say({ t: 'host', id: 'p3' })
  t.match(eve.connection.take().at(-1), { t: 'host', id: 'p3' })
  ada.say({ t: 'kick', id: 'p9' })
  t.match(ada.connection.take().at(-1), { t: 'error', code: 'not_host' })
  eve.say({ t: 'kick', id: 'p9' })
  t.match(eve.connection.take().at(-1), { t: 'error', code: 'no_such_player' })
})

t.test('a full room takes nobody, also while somebody is away', async (t) => {
  const { room, enter } = makeRoom({ players: 2 })
  const ada = enter('ada')
  enter('bob')
  room.drop(ada.member, ada.connection)
  t.equal(room.refusal({ sub: 'eve' }), 'full')
})

t.test('a client that comes back in time has missed nothing', async (t) => {
  const { room, clock, enter, newConnection } = makeRoom()
  const [ada, bob] = [enter('ada'), enter('bob')]
  bob.connection.take()
  room.drop(ada.member, ada.connection)
  t.match(bob.connection.take(), [{ t: 'away', id: 'p1' }])
  t.equal(room.host, 'p1', 'and is host all along')
  bob.say({ t: 'send', type: 'x', data: 1 })
  bob.say({ t: 'state', set: { a: 1 } })
  clock.advance(29_000)
  room.sweep()
  t.equal(room.members.resumable('token1', { sub: 'bob', guest: false }), null, 'a token is of one account')
  t.equal(room.members.resumable('token9', { sub: 'ada', guest: false }), null)
  const again = newConnection()
  room.resume(room.members.resumable('token1', { sub: 'ada', guest: false }) as Member, again, null)
  t.match(again.take(), [
    { t: 'welcome', you: 'p1', replay: 2, version: 1 },
    { t: 'msg', data: 1 },
    { t: 'state', version: 1 },
  ])
  t.match(bob.connection.take().at(-1), { t: 'back', id: 'p1' })
  room.drop(ada.member, ada.connection)
  bob.say({ t: 'send', type: 'x', data: 2 })
  t.match(again.take(), [{ t: 'msg', data: 2 }], 'the old socket’s end means nothing any more')
})

t.test('a client that says what it has had gets exactly the rest', async (t) => {
  const { room, enter, newConnection } = makeRoom()
  const [ada, bob] = [enter('ada'), enter('bob')]
  for (let data = 1; data <= 5; data++) bob.say({ t: 'send', type: 'x', data })
  // The player was sent the join of bob (1) and messages 1 to 5 (2 to 6). The first three of these frames arrived.
  const again = newConnection()
  room.resume(ada.member, again, 3)
  t.same(
    again.take().map(({ t: type, data }) => data ?? type),
    ['welcome', 3, 4, 5],
  )
  t.equal(ada.connection.closed, 4002, 'the socket it left behind is closed')
})

t.test('who missed too much begins anew', async (t) => {
  const { room, clock, enter, newConnection } = makeRoom({ replayFrames: 3 })
  const [ada, bob] = [enter('ada'), enter('bob')]
  room.drop(ada.member, ada.connection)
  for (let data = 1; data <= 4; data++) bob.say({ t: 'state', set: { data } })
  const again = newConnection()
  room.resume(ada.member, again, null)
  t.match(again.take(), [{ t: 'welcome', you: 'p1', replay: null, state: { data: 4 }, version: 4 }])
  room.drop(ada.member, again)
  bob.connection.take()
  clock.advance(30_000)
  room.sweep()
  t.match(bob.connection.take(), [
    { t: 'leave', id: 'p1', reason: 'timeout' },
    { t: 'host', id: 'p2' },
  ])
  t.equal(room.members.resumable('token1', { sub: 'ada', guest: false }), null)
})

t.test('who comes from a node that started from the same record begins anew', (t) => {
  const { room, enter } = makeRoom()
  enter('ada')
  const saved = snapshotFrom([room.snapshot()])
  const resumeAt = (fence: number, received: number | null) => {
    const next = makeRoom({}, `fence${fence}-`)
    next.room.restore(saved, fence)
    const member = next.room.members.resumable('token1', { sub: 'ada', guest: false }) as Member
    const connection = next.newConnection()
    next.room.resume(member, connection, received)
    return connection.take()[0]
  }
  const { sequence } = resumeAt(5000, null)
  t.match(resumeAt(5000, sequence), { replay: 0 })
  for (const fence of [5001, 6000, 7500]) t.match(resumeAt(fence, sequence), { replay: null })
  t.end()
})

t.test('who talks too much is told, and sent away for good', async (t) => {
  const { room, clock, enter } = makeRoom()
  const [ada, bob] = [enter('ada'), enter('bob')]
  for (let second = 0; second < 3; second++) {
    for (let count = 0; count < 60; count++) bob.say({ t: 'ping', id: 1 })
    clock.advance(1000)
  }
  for (let count = 0; count < 120; count++) bob.say({ t: 'ping', id: 1 })
  t.equal(bob.connection.closed, null, '60 a second, and 120 at once')
  ada.connection.take()
  bob.say({ t: 'send', type: 'x' })
  t.match(bob.connection.take().at(-1), { t: 'error', code: 'rate_limited' }, 'the reason comes before the end')
  t.equal(bob.connection.closed, 1008)
  t.match(ada.connection.take(), [{ t: 'leave', id: 'p2', reason: 'closed' }])
  room.receive(bob.member, '{"t":"ping"}')
  t.same(bob.connection.take(), [])
})

t.test('what is no message of the protocol is answered with an error', async (t) => {
  const { enter, room } = makeRoom()
  const ada = enter('ada')
  ada.connection.take()
  const nonsense = [
    '',
    '{',
    'null',
    '[]',
    '1',
    '"x"',
    '{}',
    '{"t":"toString"}',
    '{"t":"send"}',
    '{"t":"send","type":1}',
  ]
  const wrong = [
    '{"t":"send","type":"x","to":"p1"}',
    '{"t":"state"}',
    '{"t":"state","set":[1]}',
    '{"t":"state","del":"a"}',
  ]
  const more = [
    '{"t":"state","set":{"a":1},"if":"1"}',
    '{"t":"kick"}',
    '{"t":"lock","locked":1}',
    '{"t":"ping","id":{}}',
  ]
  for (const text of [...nonsense, ...wrong, ...more, `{"t":"state","set":{"${'k'.repeat(129)}":1}}`]) {
    room.receive(ada.member, text)
    t.match(ada.connection.take(), [{ t: 'error', code: 'invalid_message' }], text.slice(0, 60))
  }
  room.receive(ada.member, `{"t":"send","to":"all","type":"deep","data":${'['.repeat(8000)}${']'.repeat(8000)}}`)
  t.match(ada.connection.take(), [{ t: 'msg', type: 'deep' }])
})

t.test('any interleaving: one order for all, one host, growing versions, silence after leaving', async (t) => {
  type Step = { do: string; who: number; to: number; handOver: boolean }
  const steps = fc.array(
    fc.record({
      do: fc.constantFrom(
        'join',
        'join',
        'leave',
        'drop',
        'resume',
        'send',
        'send',
        'state',
        'presence',
        'kick',
        'host',
        'wait',
        'binary',
        'move',
      ),
      who: fc.nat({ max: 6 }),
      to: fc.nat({ max: 6 }),
      /** Whether the room sends its frames after this step, or continues to collect them. */
      handOver: fc.boolean(),
    }),
    { minLength: 30, maxLength: 80 },
  )
  /**
   * A client that behaves like the published one: it follows the room, counts frames, resumes, and starts over on
   * request.
   */
  class Follower {
    connection!: RecordingLink
    member!: Member
    sequence = 0
    connected = true
    gone = false
    host = ''
    version = 0
    /** The numbers of the messages to all players in order of receipt, split where the client started over. */
    readonly orders: number[][] = [[]]
    players = new Set<string>()

    hear() {
      for (const frame of this.connection.arrived.splice(0)) {
        if (!['welcome', 'error', 'pong'].includes(frame.t)) this.sequence++
        if (frame.t === 'welcome') {
          this.sequence = frame.sequence
          if (frame.replay !== null) continue
          this.orders.push([])
          this.host = frame.room.host
          this.version = frame.version
          this.players = new Set(frame.players.map(({ id }: { id: string }) => id))
        } else if (frame.t === 'host') this.host = frame.id
        else if (frame.t === 'join') this.players.add(frame.player.id)
        else if (frame.t === 'leave') this.players.delete(frame.id)
        else if (frame.t === 'msg') this.orders.at(-1)?.push(frame.data)
        else if (frame.t === 'state') {
          if (frame.version !== this.version + 1)
            throw new Error(`Version ${this.version} was followed by ${frame.version}.`)
          this.version = frame.version
        }
      }
    }
  }

  const play = (script: Step[]) => {
    const limits = { replayFrames: 6, messageBurst: 1000, hostPatienceSeconds: 5 }
    let { room, clock, enter, newConnection } = makeRoom(limits)
    const kept = [room.snapshot()]
    const followers: Follower[] = []
    let sent = 0
    let writes = 0
    let moves = 0
    for (const { do: action, who, to, handOver } of script) {
      const follower = followers[who % Math.max(1, followers.length)]
      const { member, connection } = follower ?? {}
      if (action === 'join' && room.refusal({ sub: `s${followers.length}` }) === null) {
        const next = new Follower()
        Object.assign(next, enter(`s${followers.length}`))
        followers.push(next)
      } else if (action === 'wait') {
        clock.advance(16_000)
        room.sweep()
      } else if (action === 'move') {
        // The node dies with all unsent frames; another one starts from the saved state.
        const snapshot = snapshotFrom(kept)
        ;({ room, clock, enter, newConnection } = makeRoom(limits, `token${++moves}-`))
        room.restore(snapshot)
        kept.splice(0, kept.length, room.snapshot())
        writes = snapshot.version
        for (const one of followers) {
          if (one.gone) continue
          if (one.connected) one.hear()
          one.connected = false
          const found = room.members.resumable(one.member.resumeToken, one.member.account)
          if (found && one.host !== '') one.member = found
          else one.gone = true
        }
      } else if (follower && member && connection && !follower.gone) {
        if (action === 'resume' && !follower.connected) {
          if (room.members.resumable(member.resumeToken, member.account) === member) {
            follower.connection = newConnection()
            follower.connected = true
            room.resume(member, follower.connection, follower.sequence)
          } else follower.gone = true
        } else if (follower.connected) {
          // A player who is being removed still receives a last frame.
          const isLeaving = action === 'leave' && member.link === connection
          if (isLeaving) room.leave(member, connection, 'left')
          // The last frames before a disconnect may never arrive.
          if (action === 'drop') {
            if (to % 2) connection.arrived.splice(-1)
            follower.hear()
            follower.connected = false
            room.drop(member, connection)
            // A client that was never welcomed can't resume.
            if (follower.host === '') follower.gone = true
          }
          const say = (message: unknown) => room.receive(member, JSON.stringify(message))
          const other = followers[to % followers.length]?.member.id
          if (action === 'send' && member.link) say({ t: 'send', type: 'n', data: ++sent, to: 'all' })
          if (action === 'binary') room.receiveBinary(member, Buffer.from('b'))
          if (action === 'state') {
            if (member.link) writes++
            say({ t: 'state', set: { a: writes, [`k${to}`]: who }, del: [`k${who}`] })
          }
          if (action === 'presence') say({ t: 'presence', data: 1 })
          if (action === 'kick') say({ t: 'kick', id: other })
          if (action === 'host') say({ t: 'host', id: other })
          if (isLeaving) {
            follower.hear()
            follower.gone = true
            connection.closed = 1000 // The connection throws from here on.
          }
        }
      }
      if (!handOver) continue
      for (const change of room.takeChanges()) kept.push(JSON.stringify(change))
      room.seal()?.deliver()
      for (const one of followers) {
        if (one.connected) one.hear()
        if (one.connection.closed !== null) one.gone = true
      }
      const live = followers.filter((one) => !one.gone && one.connected)
      for (const one of live) {
        if (one.host !== room.host)
          throw new Error(`${one.member.id} takes ${one.host} for the host, not ${room.host}.`)
        if (!one.players.has(room.host)) throw new Error('The host is not among the players.')
        if (one.version !== writes) throw new Error(`${one.member.id} is at ${one.version} of ${writes} versions.`)
        if (one.players.size !== room.size) throw new Error('The players are not those of the room.')
      }
      if (room.size > 0 && room.host === '') throw new Error('There is no host.')
    }
    // Another node that starts from the saved state has the same room.
    for (const change of room.takeChanges()) kept.push(JSON.stringify(change))
    const successor = makeRoom().room
    successor.restore(snapshotFrom(kept))
    const essence = ({ roster, state, version }: Snapshot) => {
      const members = roster.members.map(({ id, index, resumeToken }) => [id, index, resumeToken])
      return JSON.stringify([{ ...roster, members, moves: 0 }, Object.entries(state).sort(), version])
    }
    if (essence(JSON.parse(successor.snapshot())) !== essence(JSON.parse(room.snapshot()))) {
      throw new Error('The successor has another room.')
    }
    // Messages received without a break have consecutive numbers: no gap and no duplicate.
    for (const { orders } of followers) {
      for (const order of orders) {
        order.forEach((number, index) => {
          if (index > 0 && number !== (order[index - 1] as number) + 1) throw new Error(`Heard ${order.join(' ')}.`)
        })
      }
    }
  }
  fc.assert(fc.property(steps, play), { seed: SEED, numRuns: 400 })
  t.pass('400 scripts')
})
