import type { Account, Link, Member } from '../room/member.ts'
import type { Refusal, Room } from '../room/room.ts'

/** A request to join or resume. */
export interface JoinRequest {
  account: Account
  /** Set for a client that reconnects. */
  resume: { token: string; received: number | null } | null
}

/** Returns the reason why a player may not join a room now, or null. A resuming player is not checked again. */
export function refusalOf(room: Room, { account, resume }: JoinRequest): Refusal | null {
  return resume && room.resumable(resume.token, account) ? null : room.refusal(account)
}

/** Joins or resumes. Returns null if the room has become full. */
export function joinRoom(room: Room, { account, resume }: JoinRequest, link: Link): Member | null {
  const member = resume && room.resumable(resume.token, account)
  if (member) {
    room.resume(member, link, resume.received)
    return member
  }
  return room.refusal(account) ? null : room.join(account, link)
}
