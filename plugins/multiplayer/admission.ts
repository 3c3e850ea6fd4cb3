import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Forbidden, InvalidRequest, NotFound } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import type { GameSession } from '../game-edge/index.ts'
import type { Connections } from './connections.ts'
import { AuthRequired, RoomForbidden, RoomFull, RoomLocked, TooManySockets } from './errors.ts'
import type { Place, Places, Wish } from './places.ts'
import type { Account } from './room/member.ts'
import type { MultiplayerLimits } from './schemas.ts'
import type { Welcomes } from './welcomes.ts'

/** Who may enter which room, found out before the upgrade. */
export interface Admission {
  gameId: string
  account: Account
  /** Whom the socket counts for: the account, or for guests their address. */
  owner: string
  /** Null for guests. */
  session: GameSession | null
  place: Place
  /** `Welcomes.changes` when the rules began to be asked. */
  asOf: number
}

const ROOM_ID = /^[A-Za-z0-9_.~-]{1,64}$/
const SIGN_IN = '/auth/service/start'

/** What the rules of the upgrade look at. */
export interface Gate {
  places: Places
  connections: Connections
  welcomes: Welcomes
  limits: Pick<MultiplayerLimits, 'roomSocketsPerPlayer' | 'roomGuestSocketsPerAddress'>
}

/**
 * The rules of the upgrade (contracts, section 8), in the order in which they refuse: no multiplayer 404, not signed in
 * 401, another origin 403, bad room id 400, too many sockets already 429, no room left 409.
 *
 * The Origin must be the game's own, exactly: a sibling game on the same site sends this one's Lax cookies along with
 * `new WebSocket()`.
 */
export async function admit(
  app: FastifyInstance,
  gate: Gate,
  request: FastifyRequest,
  { isUpgrade }: { isUpgrade: boolean },
): Promise<Admission> {
  const asOf = gate.welcomes.changes
  const game = await app.edge.gameOf(request)
  const { enabled, guests, maxPlayersPerRoom } = game.settings.multiplayer
  if (!enabled) throw new NotFound('room')
  const session = await app.edge.sessionOf(request, game)
  if (!session && !guests) {
    throw new AuthRequired().with({ body: { error: 'auth_required', signIn: SIGN_IN } })
  }
  if (isUpgrade && request.headers.origin !== app.edge.originOf(request)) {
    throw new Forbidden('Rooms are for pages of the game itself.')
  }
  const { roomId } = request.params as { roomId: string }
  if (!ROOM_ID.test(roomId)) throw new InvalidRequest('A room id is 1 to 64 characters of A-Z a-z 0-9 _ . ~ -')

  const owner = session?.player.id ?? request.ip
  const most = session ? gate.limits.roomSocketsPerPlayer : gate.limits.roomGuestSocketsPerAddress
  if (gate.connections.countOf(owner) >= most) throw new TooManySockets()

  const account = session
    ? { sub: session.player.id, name: session.player.name, imageUrl: session.player.imageUrl, guest: false }
    : newGuest()
  const resume = readResume(request.query as Record<string, unknown>)
  const place = await gate.places.find({ gameId: game.id, roomId, account, resume, maxPlayers: maxPlayersPerRoom })
  if (place.verdict === 'full') throw new RoomFull()
  if (place.verdict === 'locked') throw new RoomLocked()
  if (place.verdict === 'kicked') throw new RoomForbidden()
  return { gameId: game.id, account, owner, session, place, asOf }
}

function readResume({ resume, received }: Record<string, unknown>): Wish['resume'] {
  if (typeof resume !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(resume)) return null
  const isCount = typeof received === 'string' && /^[0-9]{1,15}$/.test(received)
  return { token: resume, received: isCount ? Number(received) : null }
}

function newGuest(): Account {
  const sub = `guest_${randomText(12)}`
  return { sub, name: `Guest ${sub.slice(-4)}`, imageUrl: null, guest: true }
}
