import type { Account, Link, Member } from '../room/member.ts'
import type { Refusal } from '../room/parts.ts'
import type { Room } from '../room/room.ts'

/** A request to join or resume. */
export interface JoinRequest {
  account: Account
  /** Set for a client that reconnects. */
  resume: { token: string; received: number | null } | null
  /** Whether the client wants acknowledgements. Clients and nodes of older versions leave it out. */
  acks?: boolean | undefined
  /** Whether only the verdict is wanted: nobody joins, and no place is kept. */
  inquiry?: boolean | undefined
}

/** Whether a player may join: a refusal, with the reason of a script, or the token of the place that is kept. */
export interface Verdict {
  refusal: Refusal | 'script' | 'failed' | null
  reason?: string
  reservation?: string
}

/**
 * Returns the place in the room that a request has already: by its token, or as the same account. A place that is connected
 * is left alone while there is another: an account may be present twice.
 */
export function placeOf(room: Room, { account, resume }: JoinRequest): { member: Member; isResumed: boolean } | null {
  const resumed = resume && room.members.resumable(resume.token, account)
  if (resumed) return { member: resumed, isResumed: true }
  const seat = room.members.seatOf(account)
  return seat && (!seat.link || room.refusal(account)) ? { member: seat, isResumed: false } : null
}

/** Returns the reason why a player may not join a room now, or null. A player who has a place is not checked again. */
export function refusalOf(room: Room, request: JoinRequest): Refusal | null {
  return placeOf(room, request) ? null : room.refusal(request.account)
}

/**
 * Joins or resumes. Returns null if the room has become full, or a reserved place is not kept any more.
 *
 * @param reservation of a room with a script, which has admitted the player
 */
export function joinRoom(
  room: Room,
  request: JoinRequest,
  link: Link,
  reservation?: string | undefined,
): Member | null {
  if (room.isFrozen) return null
  const { account, resume, acks } = request
  const place = reservation === undefined ? placeOf(room, request) : null
  if (place) {
    const { member, isResumed } = place
    member.account = account
    if (isResumed) room.resume(member, link, resume?.received ?? null, acks)
    else room.takeSeat(member, link, acks)
    return member
  }
  if (reservation !== undefined) return room.claim(reservation, account, link, acks)
  return room.script || room.refusal(account) ? null : room.join(account, link, acks)
}
