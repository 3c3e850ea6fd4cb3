// Somebody who cheats in a room whose script decides, over sockets as a script in the page has them, and beside somebody
// who plays honestly. A referee sees every frame that the honest player gets.
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { headersOf, RoomSocket, signInTo, upgrade } from '../../plugins/multiplayer/kit.ts'
import { CHEATS, type Cheater, ROOM } from './cheats.ts'
import { type Honest, playHonestly, settle } from './honest.ts'
import { outcomeOf } from './outcome.ts'
import { withRounds } from './short-rounds.ts'

const ROUND_MS = 1000

/** The means of a player without a browser. */
class SocketCheater implements Cheater {
  readonly #t: Test
  readonly #platform: Platform
  readonly #player: PlayerClient
  readonly #host: string
  #socket: WebSocket | null = null

  constructor(t: Test, platform: Platform, player: PlayerClient, host: string) {
    this.#t = t
    this.#platform = platform
    this.#player = player
    this.#host = host
  }

  async send(...frames: (string | number[])[]): Promise<string> {
    if (this.#socket?.readyState !== 1) await this.enter(ROOM)
    return outcomeOf(this.#socket as never, frames)
  }

  async enter(path: string): Promise<string> {
    const { port } = this.#platform.app.server.address() as { port: number }
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: headersOf(this.#player, this.#host) })
    this.#t.teardown(() => socket.terminate())
    socket.on('error', () => {})
    const welcome = await new Promise<{ you: string } | null>((resolve) => {
      socket.once('message', (data) => resolve(JSON.parse(String(data))))
      socket.once('close', () => resolve(null))
    })
    if (welcome === null) return this.ask('GET', path)
    this.#socket = socket
    return `entered as ${welcome.you}`
  }

  async ask(method: string, path: string, { body, signedOut = false }: { body?: unknown; signedOut?: boolean } = {}) {
    const client = signedOut ? this.#platform.stranger : this.#player
    const answer = await client.request(method, path, body, { host: this.#host })
    const { error } = answer.body ?? {}
    return `${answer.status} ${error?.code ?? error ?? ''}`.trim()
  }
}

t.test('whoever cheats wins nothing', { timeout: timeLimit(300) }, async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.app.starters.create(owner.id, { starter: 'authority' })
  const files = await withRounds(ROUND_MS)
  await platform.app.deploys.publish(owner.id, { gameId: game.id, files, whole: false, remove: [] })
  const host = platform.gameHost(game.slug)
  const [ada, eve] = [await platform.signUp({ name: 'Ada' }), await platform.signUp({ name: 'Eve' })]
  for (const player of [ada, eve]) await signInTo(player, host)

  const honest: Honest = await playHonestly(new RoomSocket(t, platform, ROOM, headersOf(ada, host)).socket)
  const cheater = new SocketCheater(t, platform, eve, host)
  for (const { name, try: attempt, expected } of CHEATS) {
    t.equal(await attempt(cheater, honest.victim), expected, name)
    await honest.step()
    t.same(honest.referee.violations.splice(0), [], `${name}: nothing else happens`)
  }
  t.ok(CHEATS.length >= 20)

  const { cookie: _, ...nobody } = headersOf(eve, host)
  t.match(await upgrade(platform, ROOM, nobody), { status: 401, body: { error: 'auth_required' } }, 'without a session')
  const forged = { ...nobody, cookie: headersOf(eve, host).cookie?.replace(/.{8}$/, 'AAAAAAAA') ?? '' }
  t.match(await upgrade(platform, ROOM, forged), { status: 401 }, 'with a forged one')
  const foreign = { ...headersOf(eve, host), origin: 'http://evil.localhost' }
  t.match(await upgrade(platform, ROOM, foreign), { status: 403 }, 'from the page of another game')

  // What was sent before is through when the script has heard of this.
  const [, id] = /^entered as (.*)/.exec(await cheater.enter(ROOM)) ?? []
  await cheater.send('{"t":"send","type":"steer","data":{"x":0,"y":-1}}')
  await honest.until(() => (honest.referee.placeOf(id as string)?.y ?? 300) < 300)
  await settle(honest, (frame) => cheater.send(frame))
  t.same(honest.referee.violations, [])

  const { results } = honest.referee
  const of = (sub: string) => results.filter((result) => result.sub === sub).map(({ points }) => points)
  const { entries } = (await eve.get('/__service/scores/coins', { host })).body
  const onBoard = new Map<string, number>(
    entries.map(({ player, score }: { player: { sub: string }; score: number }) => [player.sub, score]),
  )
  t.equal(onBoard.get(ada.id), Math.max(...of(ada.id)), 'the board has what the honest player reached')
  t.ok(of(eve.id).includes(onBoard.get(eve.id) ?? -1), 'and of the cheater what the rules gave')
  t.equal(onBoard.size, 2)
})
