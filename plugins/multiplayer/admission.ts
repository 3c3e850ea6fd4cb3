import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Forbidden, InvalidRequest, NotFound } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import type { GameSession } from '../game-edge/index.ts'
import type { Game } from '../games/index.ts'
import { AuthRequired, RoomForbidden, RoomFull, RoomLocked } from './errors.ts'
import type { Account } from './room/member.ts'
import type { Room } from './room/room.ts'
import type { Rooms } from './rooms.ts'

/** Who may enter which room, found out before the upgrade. */
export interface Admission {
  game: Game
  roomId: string
  account: Account
  /** Null for guests. */
  session: GameSession | null
  /** From the client that comes back. */
  resume: { token: string; received: number | null } | null
}

const ROOM_ID = /^[A-Za-z0-9_.~-]{1,64}$/
const SIGN_IN = '/auth/service/start'

/**
 * The rules of the upgrade (contracts, section 8), in the order in which they refuse: no multiplayer 404, not signed in
 * 401, another origin 403, bad room id 400, no room left 409.
 *
 * The Origin must be the game's own, exactly: a sibling game on the same site sends this one's Lax cookies along with
 * `new WebSocket()`.
 */
export async function admit(
  app: FastifyInstance,
  rooms: Rooms,
  request: FastifyRequest,
  { isUpgrade }: { isUpgrade: boolean },
): Promise<Admission> {
  const game = await app.edge.gameOf(request)
  const { enabled, guests } = game.settings.multiplayer
  if (!enabled) throw new NotFound('room')
  const session = await app.edge.sessionOf(request, game)
  if (!session && !guests) {
    throw new AuthRequired().with({ body: { error: 'auth_required', signIn: SIGN_IN } })
  }
  if (isUpgrade && request.headers.origin !== app.origins.game(game.slug)) {
    throw new Forbidden('Rooms are for pages of the game itself.')
  }
  const { roomId } = request.params as { roomId: string }
  if (!ROOM_ID.test(roomId)) throw new InvalidRequest('A room id is 1 to 64 characters of A-Z a-z 0-9 _ . ~ -')

  const account = session
    ? { sub: session.player.id, name: session.player.name, imageUrl: session.player.imageUrl, guest: false }
    : newGuest()
  const resume = readResume(request.query as Record<string, unknown>)
  const room = rooms.find(game.id, roomId)
  const returning = room && resume && room.resumable(resume.token, account)
  if (room && !returning) mustTake(room, account)
  return { game, roomId, account, session, resume }
}

/** @throws RoomFull, RoomLocked, RoomForbidden */
function mustTake(room: Room, account: Account): void {
  const refusal = room.refusal(account)
  if (refusal === 'full') throw new RoomFull()
  if (refusal === 'locked') throw new RoomLocked()
  if (refusal === 'kicked') throw new RoomForbidden()
}

function readResume({ resume, received }: Record<string, unknown>): Admission['resume'] {
  if (typeof resume !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(resume)) return null
  const isCount = typeof received === 'string' && /^[0-9]{1,15}$/.test(received)
  return { token: resume, received: isCount ? Number(received) : null }
}

function newGuest(): Account {
  const sub = `guest_${randomText(12)}`
  return { sub, name: `Guest ${sub.slice(-4)}`, imageUrl: null, guest: true }
}
