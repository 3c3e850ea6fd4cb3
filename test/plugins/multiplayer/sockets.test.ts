import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { headersOf, RoomSocket, signInTo, upgrade } from './kit.ts'

async function withPlayers(t: Test, settings: Record<string, unknown> = {}, options: PlatformOptions = {}) {
  const platform = await startPlatform(t, { listen: true, ...options })
  const owner = await platform.signUp()
  const game = await platform.game(owner, { settings: { multiplayer: settings } })
  const host = platform.gameHost(game.slug)
  const [ada, bob] = [await platform.signUp({ name: 'Ada' }), await platform.signUp({ name: 'Bob' })]
  for (const player of [ada, bob]) await signInTo(player, host)
  const open = (player: typeof ada, path = '/mp/rooms/lobby', more = {}) =>
    new RoomSocket(t, platform, path, headersOf(player, host), more)
  return { platform, owner, game, host, ada, bob, open }
}

t.test('the availability route says where rooms are', async (t) => {
  const { platform, host, owner, game } = await withPlayers(t)
  t.match(await platform.stranger.get('/mp', { host }), {
    status: 200,
    body: {
      enabled: true,
      version: 1,
      rooms: `ws://${host}/mp/rooms/{roomId}`,
      client: '/__service/multiplayer.js',
      docs: /^http/,
    },
  })
  const program = await platform.program(owner)
  await program.patch(`/api/games/${game.id}`, { settings: { multiplayer: { enabled: false } } })
  t.equal((await platform.stranger.get('/mp', { host })).body.enabled, false)
})

t.test('a player who is renamed is so at once in the rooms where they are, away or not', async (t) => {
  const { platform, ada, bob, open } = await withPlayers(t)
  const [first, second, other] = [open(ada), open(ada), open(bob)]
  const { you: firstId } = await first.enter()
  const { you: secondId } = await second.enter()
  await other.enter()
  second.socket.terminate()
  await other.next('away')
  t.equal((await ada.submit('/settings/name', { name: 'Countess' })).status, 303)
  // The two are told in any order.
  for (const player of [other, first]) {
    const told = [await player.next('profile'), await player.next('profile')]
    t.same(told.map(({ id }) => id).sort(), [firstId, secondId].sort())
    for (const { name, imageUrl } of told) t.match({ name, imageUrl }, { name: 'Countess', imageUrl: /^http/ })
  }
  const late = await open(bob).enter()
  t.same(
    late.players.map(({ name }: { name: string }) => name),
    ['Countess', 'Countess', 'Bob', 'Bob'],
  )
  // What is nothing to see of is not told.
  await platform.app.identity.administration.setDisabled(bob.id, false)
  other.say({ t: 'ping', id: 1 })
  await other.next('pong')
  t.notOk(other.received.some((frame) => frame.t === 'profile'))
})

t.test('an upgrade is refused by the rules, with a status and a body', async (t) => {
  const { platform, host, ada, bob, owner, game, open } = await withPlayers(t, { maxPlayersPerRoom: 1 })
  const headers = headersOf(ada, host)
  const room = '/mp/rooms/lobby'
  const { cookie: _, ...anonymous } = headers
  t.strictSame(await upgrade(platform, room, anonymous), {
    status: 401,
    body: { error: 'auth_required', signIn: '/auth/service/start' },
  })
  t.equal((await upgrade(platform, room, { ...headers, cookie: `${headers.cookie}; ${headers.cookie}` })).status, 401)
  const { origin: __, ...withoutOrigin } = headers
  t.equal((await upgrade(platform, room, withoutOrigin)).status, 101, 'a browser always sends an origin')
  const foreign = [
    platform.portal,
    `http://other.${host}`,
    `https://${host}`,
    'null',
    `http://${host}.evil`,
    `http://${host}/`,
  ]
  for (const origin of foreign) {
    const refused = await upgrade(platform, room, { ...headers, origin })
    t.match(refused, { status: 403, body: { error: { code: 'forbidden' } } }, origin)
  }
  for (const bad of ['a%20b', 'a%2Fb', 'x'.repeat(65), '%C3%BC', 'a;b']) {
    t.match(await upgrade(platform, `/mp/rooms/${bad}`, headers), { status: 400, body: { error: {} } }, bad)
  }
  t.equal((await upgrade(platform, `/mp/rooms/A-z_0.9~${'x'.repeat(55)}`, headers)).status, 101)
  for (const path of ['/mp', '/', '/auth/service/session', '/mp/rooms']) {
    t.equal((await upgrade(platform, path, headers)).status, 400, `${path} is no WebSocket`)
  }
  t.equal((await upgrade(platform, '/mp/other', headers)).status, 400)

  await open(ada).enter()
  t.match(await upgrade(platform, room, headersOf(bob, host)), { status: 409, body: { error: { code: 'room_full' } } })
  t.match((await bob.get(room, { host })).status, 409, 'the same address, fetched, says the same')
  const fetched = (site: string) => bob.get('/mp/rooms/other', { host, headers: { 'sec-fetch-site': site } })
  t.match((await bob.get('/mp/rooms/other', { host })).status, 426)
  t.equal((await fetched('same-origin')).status, 426)
  t.equal((await fetched('same-site')).status, 403, 'a sibling game may not ask in the name of the player')
  t.match((await platform.stranger.get('/mp/rooms', { host })).body, {
    rooms: [{ id: 'lobby', players: 1, capacity: 1, locked: false }],
    nextCursor: null,
  })

  const program = await platform.program(owner)
  await program.patch(`/api/games/${game.id}`, { settings: { multiplayer: { enabled: false } } })
  t.match(await upgrade(platform, room, headers), { status: 404, body: { error: { code: 'not_found' } } })
  t.equal((await upgrade(platform, room, { ...headers, host: platform.gameHost('nobody') })).status, 404)
})

t.test('two players in a room hear one another', async (t) => {
  const { ada, bob, open } = await withPlayers(t)
  const first = open(ada)
  t.match(await first.enter(), { you: 'p1', players: [{ name: 'Ada', sub: ada.id }], room: { host: 'p1' } })
  const second = open(bob)
  await second.enter()
  t.match(await first.next('join'), { player: { id: 'p2', name: 'Bob', sub: bob.id } })
  second.say({ t: 'send', type: 'hello', data: { x: 1 } })
  t.same(await first.next('msg'), { t: 'msg', from: 'p2', type: 'hello', data: { x: 1 } })
  first.socket.send(Buffer.from([7, 8, 9]))
  t.same([...(await second.next('binary')).data], [0, 0, 7, 8, 9])
  second.socket.close()
  t.match(await first.next('leave'), { id: 'p2', reason: 'left' })
})

t.test('a lost socket comes back and has missed nothing', async (t) => {
  const { ada, bob, open } = await withPlayers(t)
  const first = open(ada)
  const { resume, you } = await first.enter()
  const second = open(bob)
  await second.enter()
  await first.next('join')
  first.socket.terminate()
  t.match(await second.next('away'), { id: you })
  second.say({ t: 'send', type: 'n', data: 1 })
  second.say({ t: 'send', type: 'n', data: 2 })
  second.say({ t: 'ping', id: 1 })
  await second.next('pong')
  const again = open(ada, `/mp/rooms/lobby?resume=${resume}&received=1`)
  t.match(await again.enter(), { you, replay: 2 })
  t.same([(await again.next('msg')).data, (await again.next('msg')).data], [1, 2])
  t.match(await second.next('back'), { id: you })
  again.socket.close(4000, 'silent')
  t.match(await second.next('away'), { id: you }, 'a client that has heard nothing for long may come back too')
})

t.test('limits close with their codes', async (t) => {
  const { ada, bob, open } = await withPlayers(t)
  const watcher = open(bob)
  await watcher.enter()

  const large = open(ada)
  await large.enter()
  large.socket.send('x'.repeat(64 * 1024 + 1))
  t.equal(await large.closed, 1009)
  t.match(await watcher.next('leave'), { reason: 'closed' })

  const fast = open(ada)
  await fast.enter()
  for (let count = 0; count < 130; count++) fast.say({ t: 'ping', id: count })
  t.equal(await fast.closed, 1008)
  t.ok(fast.received.some((frame) => frame.t === 'error' && frame.code === 'rate_limited'))
  t.match(await watcher.next('leave'), { reason: 'closed' })

  const pings = open(ada)
  await pings.enter()
  for (let count = 0; count < 125 && pings.socket.readyState === pings.socket.OPEN; count++) {
    pings.socket.ping()
    await Promise.race([once(pings.socket, 'pong'), pings.closed])
  }
  t.equal(await pings.closed, 1008, 'pings count too')

  const broken = open(ada)
  await broken.enter()
  broken.socket.send(Buffer.from([0xff, 0xfe]), { binary: false })
  t.equal(await broken.closed, 1007)

  const pieces = open(ada)
  await pieces.enter()
  for (let count = 0; count < 200; count++) pieces.socket.send('x', { fin: false })
  t.equal(await pieces.closed, 1008, 'a message in endless fragments')
})

t.test('a slow reader is let go with 1013, and does not hold memory', async (t) => {
  const { ada, bob, open } = await withPlayers(t, {}, { config: { limits: { roomMessageBurst: 100_000 } } })
  const slow = open(ada)
  await slow.enter()
  slow.socket.pause()
  const fast = open(bob)
  await fast.enter()
  const bytes = Buffer.alloc(16 * 1024)
  for (let round = 0; round < 40 && !fast.received.some((frame) => frame.t === 'away'); round++) {
    for (let count = 0; count < 50; count++) fast.socket.send(bytes)
    fast.say({ t: 'ping', id: round })
    await fast.next('pong')
  }
  t.match(await fast.next('away'), { id: 'p1' }, 'the room goes on without it')
  slow.socket.resume()
  t.equal(await slow.closed, 1013)
})

t.test('guests come in when the game says so', async (t) => {
  const limits = { roomPlayers: 7, roomGuestSocketsPerAddress: 2 }
  const { platform, host } = await withPlayers(t, { guests: true }, { config: { limits } })
  const headers = { host, origin: `http://${host}` }
  const guest = new RoomSocket(t, platform, '/mp/rooms/lobby', headers)
  const players = [{ sub: /^guest_/, name: /^Guest / }]
  t.match(await guest.enter(), { players, room: { capacity: 7 } }, 'no game makes its rooms larger than the limit')
  await new RoomSocket(t, platform, '/mp/rooms/lobby', headers).enter()
  t.equal((await upgrade(platform, '/mp/rooms/lobby', headers)).status, 429, 'so many from one address')
})

t.test('a player who is signed out everywhere is out of the room', async (t) => {
  const { platform, ada, bob, open } = await withPlayers(t)
  const first = open(ada)
  await first.enter()
  const second = open(bob)
  await second.enter()
  await platform.app.identity.passwords.reset(ada.account.email, 'another yard battery fence')
  t.equal(await first.closed, 1008)
  t.match(await second.next('leave'), { id: 'p1', reason: 'closed' })
})

t.test('a player whose sign-in was sealed with a stolen key is out of the room', async (t) => {
  const { platform, host, ada, bob, open } = await withPlayers(t, { guests: true })
  const [player, guest] = [
    open(ada),
    new RoomSocket(t, platform, '/mp/rooms/lobby', { host, origin: `http://${host}` }),
  ]
  await player.enter()
  await guest.enter()
  await platform.app.keyRings.rotate('sessions', { immediate: false })
  const later = open(bob)
  await later.enter()
  await platform.app.keyRings.rotate('sessions', { immediate: true })
  t.equal(await player.closed, 1008)
  t.equal(await later.closed, 1008)
  guest.say({ t: 'ping', id: 1 })
  t.match(await guest.next('pong'), { id: 1 }, 'guests carry nothing that is sealed')
})

t.test('whoever would not be let in any more is out of the room at once, and does not come back', async (t) => {
  const { platform, host, owner, game, ada, bob, open } = await withPlayers(t, { guests: true })
  await signInTo(owner, host)
  const program = await platform.program(owner)
  const change = async (body: unknown) => {
    const { status, text } = await program.patch(`/api/games/${game.id}`, body)
    if (status !== 200) throw new Error(text)
  }
  const room = '/mp/rooms/lobby'
  const strange = { host, origin: `http://${host}` }
  const enter = async (socket: RoomSocket) => Object.assign(socket, { resume: (await socket.enter()).resume as string })
  const guest = () => enter(new RoomSocket(t, platform, room, strange))
  const gone = async (sockets: RoomSocket[]) =>
    t.same(
      await Promise.all(sockets.map(({ closed }) => closed)),
      sockets.map(() => 1008),
    )
  /** Asserts that the remaining players receive nothing unexpected: the next frame answers their own ping. */
  const stays = async (socket: RoomSocket) => {
    socket.say({ t: 'ping', id: 1 })
    t.match(await socket.next('pong'), { id: 1 })
  }

  await t.test('guests, when the game takes no more of them', async (t) => {
    const [signedIn, passing] = [await enter(open(ada)), await guest()]
    await change({ title: 'Another title' })
    await stays(passing)
    await change({ settings: { multiplayer: { guests: false } } })
    await gone([passing])
    t.match(await signedIn.next('leave'), { reason: 'closed' })
    await stays(signedIn)
    t.equal((await upgrade(platform, `${room}?resume=${passing.resume}`, strange)).status, 401)
    await change({ settings: { multiplayer: { guests: true } } })
    signedIn.socket.close()
  })

  await t.test('all but the owner and the invited, when it becomes private', async (t) => {
    const { memberInvitations, members } = platform.app.games
    const { url } = await memberInvitations.create(owner.id, game.id, { role: 'tester' })
    const sockets = [await enter(open(ada)), await guest()]
    const [own, invited] = [await enter(open(owner)), await enter(open(bob))]
    const [id = '', key = ''] = url.split('/').slice(-2)
    await change({ visibility: 'private' })
    await gone([...sockets, invited])
    await stays(own)
    t.equal((await upgrade(platform, `${room}?resume=${sockets[0]?.resume}`, headersOf(ada, host))).status, 404)

    await memberInvitations.accept(bob.id, id, key)
    const welcome = await enter(open(bob))
    await change({ title: 'A third title' })
    await stays(welcome)
    await members.remove(owner.id, game.id, bob.id)
    await gone([welcome])
    await stays(own)
    t.equal((await upgrade(platform, room, headersOf(bob, host))).status, 404)
    await change({ visibility: 'public' })
    own.socket.close()
  })

  await t.test('everyone, when the game has no rooms any more', async (t) => {
    const [first, away] = [await enter(open(ada)), await enter(open(bob))]
    away.socket.terminate()
    await first.next('away')
    await change({ settings: { multiplayer: { enabled: false } } })
    await gone([first])
    t.equal((await upgrade(platform, `${room}?resume=${away.resume}`, headersOf(bob, host))).status, 404)
    await change({ settings: { multiplayer: { enabled: true } } })
  })

  await t.test('everyone, when the game is deleted', async () => {
    const sockets = [await enter(open(ada)), await guest(), await enter(open(owner))]
    t.equal((await program.delete(`/api/games/${game.id}`)).status, 204)
    await gone(sockets)
    t.equal((await upgrade(platform, room, strange)).status, 404)
    await platform.app.games.deletion.restore(owner.id, game.id)
  })

  await t.test('whoever signed in by an application that is deleted, while guests stay', async () => {
    const [sockets, passing] = [[await enter(open(ada)), await enter(open(bob))], await guest()]
    const [{ id }] = (await program.get('/api/oauth/apps')).body.apps
    t.equal((await program.post(`/api/oauth/apps/${id}/secret`)).status, 200)
    await stays(sockets[0] as RoomSocket)
    t.equal((await program.delete(`/api/oauth/apps/${id}`)).status, 204)
    await gone(sockets)
    await stays(passing)
  })

  await t.test('a player who is disabled', async () => {
    t.equal(platform.app.games.visibleTo(null, await platform.app.games.get(game.id)), true)
    const other = await platform.game(owner, { title: 'Other', settings: { multiplayer: {} } })
    const there = platform.gameHost(other.slug)
    await signInTo(ada, there)
    const socket = await enter(new RoomSocket(t, platform, room, headersOf(ada, there)))
    await platform.app.identity.administration.setDisabled(ada.id, true)
    await gone([socket])
  })
})

t.test('a connection that answers no pings is dropped', async (t) => {
  const { ada, open } = await withPlayers(t, {}, { config: { limits: { roomPingSeconds: 1 } } })
  const dead = open(ada, '/mp/rooms/lobby', { autoPong: false })
  await dead.enter()
  t.equal(await dead.closed, 1006)
})

t.test('a server that stood still reads the answers to its pings before it drops anybody', async (t) => {
  const { ada, open } = await withPlayers(t, {}, { config: { limits: { roomPingSeconds: 1 } } })
  const player = open(ada)
  await player.enter()
  await once(player.socket, 'ping')
  // The answer is sent, and waits unread when the next ping is due.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2200)
  player.say({ t: 'ping', id: 1 })
  t.match(await player.next('pong'), { id: 1 })
})

t.test('a busy room collects what it says, and nothing is lost or changes its order', async (t) => {
  const limits = { roomMessagesPerSecond: 100_000, roomMessageBurst: 100_000, roomSocketsPerPlayer: 20 }
  const { platform, ada, bob, open } = await withPlayers(t, {}, { config: { limits } })
  const sockets = [open(ada), open(bob), open(ada), open(bob), open(ada), open(bob)]
  for (const socket of sockets) await socket.enter()
  let chunks = 0
  const [listener] = sockets as [RoomSocket]
  const { _socket: raw } = listener.socket as unknown as { _socket: import('node:net').Socket }
  raw.on('data', () => chunks++)
  for (let round = 0; round < 100; round++) {
    for (const [from, socket] of sockets.slice(1).entries()) {
      if (round % 2) socket.say({ t: 'send', type: 'n', data: [from, round], to: 'all' })
      else socket.socket.send(Buffer.from([from, round]))
    }
  }
  for (const socket of sockets.slice(1)) {
    socket.say({ t: 'ping', id: 1 })
    await socket.next('pong')
  }
  const received = listener.received.filter(({ t: type }) => type === 'msg' || type === 'binary')
  t.equal(received.length, 500)
  t.ok(chunks < 300, `500 messages came in ${chunks} pieces`)
  for (let from = 0; from < 5; from++) {
    const rounds = received.map((frame) => frame.data[frame.data.length === 4 ? 3 : 1])
    const own = rounds.filter((_, index) => received[index].data.at(received[index].data.length === 4 ? 2 : 0) === from)
    t.same(own, [...Array(100).keys()], 'each sender in order')
  }
  t.match((await platform.stranger.get('/healthz')).status, 200)
})

t.test('a refused upgrade does not keep its socket', async (t) => {
  const { platform, host } = await withPlayers(t)
  const { port } = platform.app.server.address() as { port: number }
  for (const path of ['/', '/mp/rooms/lobby', '/%', '/mp/rooms/a%', `/mp/rooms/${'a'.repeat(1100)}`]) {
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    socket.resume()
    await once(socket, 'end', { signal: AbortSignal.timeout(timeLimit()) })
    t.pass(path.slice(0, 20))
  }
})

t.test('when the server stops, clients are told to come back', async (t) => {
  const { platform, ada, bob, open } = await withPlayers(t)
  const first = open(ada)
  await first.enter()
  const second = open(bob)
  await second.enter()
  second.socket.pause() // This socket does not answer.
  await platform.app.close()
  t.equal(await first.closed, 1012)
  t.equal(second.socket.readyState, second.socket.OPEN, 'nobody waited for an answer of the other')
})
