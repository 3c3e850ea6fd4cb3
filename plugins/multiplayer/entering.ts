import type { Account, Link, Member } from './room/member.ts'
import type { Refusal, Room } from './room/room.ts'

/** Who wants to come in, or back. */
export interface Applicant {
  account: Account
  /** From the client that comes back. */
  resume: { token: string; received: number | null } | null
}

/** Why somebody may not enter a room now, or null. Whoever comes back is not asked again. */
export function verdictOn(room: Room, { account, resume }: Applicant): Refusal | null {
  return resume && room.resumable(resume.token, account) ? null : room.refusal(account)
}

/** Lets somebody in, or back in. Null when the room can't take them: somebody was faster. */
export function enter(room: Room, { account, resume }: Applicant, link: Link): Member | null {
  const member = resume && room.resumable(resume.token, account)
  if (member) {
    room.resume(member, link, resume.received)
    return member
  }
  return room.refusal(account) ? null : room.join(account, link)
}
