import type { Account, Link, Member } from '../room/member.ts'
import type { Refusal, Room } from '../room/room.ts'

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

/** Returns the reason why a player may not join a room now, or null. A resuming player is not checked again. */
export function refusalOf(room: Room, { account, resume }: JoinRequest): Refusal | null {
  return resume && room.members.resumable(resume.token, account) ? null : room.refusal(account)
}

/**
 * Joins or resumes. Returns null if the room has become full, or a reserved place is not kept any more.
 *
 * @param reservation of a room with a script, which has admitted the player
 */
export function joinRoom(
  room: Room,
  { account, resume, acks }: JoinRequest,
  link: Link,
  reservation?: string | undefined,
): Member | null {
  const member = resume && room.members.resumable(resume.token, account)
  if (member) {
    member.account = account
    room.resume(member, link, resume.received, acks)
    return member
  }
  if (reservation !== undefined) return room.claim(reservation, account, link, acks)
  return room.script || room.refusal(account) ? null : room.join(account, link, acks)
}
