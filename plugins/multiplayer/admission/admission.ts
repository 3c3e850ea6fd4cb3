import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Forbidden, InvalidRequest, NotFound } from '../../../core/errors.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import { randomText } from '../../../core/ids.ts'
import type { GameSession } from '../../game-edge/index.ts'
import type { Game } from '../../games/index.ts'
import type { Admission, Connections } from '../connections.ts'
import type { RoomDirectory, RoomRequest } from '../directory.ts'
import {
  AuthRequired,
  RefusedByRoom,
  RoomFailed,
  RoomForbidden,
  RoomFull,
  RoomLocked,
  TooManySockets,
} from '../errors.ts'
import type { Account } from '../room/member.ts'
import type { MultiplayerLimits } from '../schemas.ts'
import type { Verdict } from './join.ts'
import type { AdmissionRevalidation } from './revalidation.ts'

/** The form of the ids of rooms. */
export const ROOM_ID = /^[A-Za-z0-9_.~-]{1,64}$/
const SIGN_IN = '/auth/service/start'

/** The inputs of admission. */
export interface AdmissionContext {
  directory: RoomDirectory
  connections: Connections
  revalidation: AdmissionRevalidation
  limits: Pick<MultiplayerLimits, 'roomSocketsPerPlayer' | 'roomGuestSocketsPerAddress'>
}

/**
 * The rules of the upgrade, in the order in which they refuse: no multiplayer 404, not signed in
 * 401, another origin 403, bad room id 400, too many sockets already 429, no room left 409.
 *
 * The Origin, which programs may leave out, must be exactly the game's own: a sibling game on the same site sends this
 * game's Lax cookies with `new WebSocket()`.
 */
export async function admit(
  app: FastifyInstance,
  context: AdmissionContext,
  request: FastifyRequest,
  { isUpgrade }: { isUpgrade: boolean },
): Promise<Admission> {
  const changesSeen = context.revalidation.changes
  const { game, preview } = await roomGameOf(app, request)
  const { enabled, guests, maxPlayersPerRoom, hostPatienceSeconds } = game.settings.multiplayer
  if (!enabled) throw new NotFound('room')
  const session = await app.edge.sessionOf(request, game)
  if (!session && !guests) {
    throw new AuthRequired().with({ body: { error: 'auth_required', signIn: SIGN_IN } })
  }
  if (isUpgrade ? isOfOtherOrigin(app, request) : isOfOtherPage(request)) {
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
  const query = request.query as Record<string, unknown>
  const resume = readResume(query)
  const room = await context.directory.find({
    gameId: game.id,
    preview: preview ?? (await previewAskedFor(app, request, { game, session })),
    roomId,
    account,
    resume,
    acks: query.acks === '1',
    maxPlayers: maxPlayersPerRoom,
    hostPatienceSeconds,
    inquiry: !isUpgrade,
  })
  throwRefusal(room.verdict)
  return { gameId: game.id, account, owner, session, room, changesSeen }
}

/** Whether another page wants the WebSocket. Every browser sends the origin of its page. */
const isOfOtherOrigin = (app: FastifyInstance, request: FastifyRequest): boolean =>
  (request.headers.origin ?? app.edge.originOf(request)) !== app.edge.originOf(request)

/**
 * Whether a request without an upgrade is another page's: it would reach the script with the player's cookies. Browsers
 * send no Origin with it, and programs send neither header.
 */
function isOfOtherPage({ headers }: FastifyRequest): boolean {
  return (headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin'
}

/** Returns the game whose rooms a request is for. Those of a preview are apart. @throws NotFound, Suspended */
export async function roomGameOf(
  app: FastifyInstance,
  request: FastifyRequest,
): Promise<{ game: Game; preview: string | null }> {
  const site = app.origins.of(request.raw)
  const preview = site.kind === 'game' ? site.preview : null
  const game = preview === null ? await app.edge.gameOf(request) : await app.edge.signInGame(request)
  return { game, preview }
}

/**
 * Returns the preview whose rooms a page of the game itself asks for, by `?preview=<name>`: `gameyard dev` has a session
 * there, and not at the address of each preview. As at that address, only makers and testers may see those of a private game.
 *
 * @throws NotFound
 */
async function previewAskedFor(
  app: FastifyInstance,
  { query }: FastifyRequest,
  { game, session }: { game: Game; session: GameSession | null },
): Promise<string | null> {
  const { preview } = query as { preview?: unknown }
  if (preview === undefined) return null
  const maySee = app.games.visibleTo(session?.player.id ?? null, game)
  const isThere =
    maySee && typeof preview === 'string' && (await app.deploys.manifests.byPreview(game.id, preview)) !== null
  if (!isThere) throw new NotFound('preview')
  return preview
}

/** @throws the error of a refusal */
function throwRefusal({ refusal, reason }: Verdict): void {
  if (refusal === 'full') throw new RoomFull()
  if (refusal === 'locked') throw new RoomLocked()
  if (refusal === 'kicked') throw new RoomForbidden()
  if (refusal === 'script') throw reason ? new RefusedByRoom(reason) : new RefusedByRoom()
  if (refusal === 'failed') throw new RoomFailed()
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
