import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Forbidden, InvalidRequest, NotFound } from '../../../core/errors.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import { randomText } from '../../../core/ids.ts'
import type { Admission, Connections } from '../connections.ts'
import type { RoomDirectory, RoomRequest } from '../directory.ts'
import { AuthRequired, RoomForbidden, RoomFull, RoomLocked, TooManySockets } from '../errors.ts'
import type { Account } from '../room/member.ts'
import type { MultiplayerLimits } from '../schemas.ts'
import type { AdmissionRevalidation } from './revalidation.ts'

const ROOM_ID = /^[A-Za-z0-9_.~-]{1,64}$/
const SIGN_IN = '/auth/service/start'

/** The inputs of admission. */
export interface AdmissionContext {
  directory: RoomDirectory
  connections: Connections
  revalidation: AdmissionRevalidation
  limits: Pick<MultiplayerLimits, 'roomSocketsPerPlayer' | 'roomGuestSocketsPerAddress'>
}

/**
 * The rules of the upgrade (contracts, section 8), in the order in which they refuse: no multiplayer 404, not signed in
 * 401, another origin 403, bad room id 400, too many sockets already 429, no room left 409.
 *
 * The Origin must be exactly the game's own: a sibling game on the same site sends this game's Lax cookies with `new
 * WebSocket()`.
 */
export async function admit(
  app: FastifyInstance,
  context: AdmissionContext,
  request: FastifyRequest,
  { isUpgrade }: { isUpgrade: boolean },
): Promise<Admission> {
  const changesSeen = context.revalidation.changes
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

  const owner = session?.player.id ?? callerAddress(request)
  const most = session ? context.limits.roomSocketsPerPlayer : context.limits.roomGuestSocketsPerAddress
  if (context.connections.countOf(owner) >= most) throw new TooManySockets()

  const account = session
    ? { sub: session.player.id, name: session.player.name, imageUrl: session.player.imageUrl, guest: false }
    : newGuest()
  const resume = readResume(request.query as Record<string, unknown>)
  const room = await context.directory.find({
    gameId: game.id,
    roomId,
    account,
    resume,
    maxPlayers: maxPlayersPerRoom,
  })
  if (room.refusal === 'full') throw new RoomFull()
  if (room.refusal === 'locked') throw new RoomLocked()
  if (room.refusal === 'kicked') throw new RoomForbidden()
  return { gameId: game.id, account, owner, session, room, changesSeen }
}

function readResume({ resume, received }: Record<string, unknown>): RoomRequest['resume'] {
  if (typeof resume !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(resume)) return null
  const isCount = typeof received === 'string' && /^[0-9]{1,15}$/.test(received)
  return { token: resume, received: isCount ? Number(received) : null }
}

function newGuest(): Account {
  const sub = `guest_${randomText(12)}`
  return { sub, name: `Guest ${sub.slice(-4)}`, imageUrl: null, guest: true }
}
