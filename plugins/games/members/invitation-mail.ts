import type { Game } from '../schemas.ts'
import type { MemberRole } from './roles.ts'

interface Invited {
  /** The name of the player who invites. */
  from: string
  game: Pick<Game, 'title'>
  role: MemberRole
  /** The link. */
  url: string
  siteName: string
  /** Whether the link is for the first player who opens it. */
  isForOne: boolean
}

/** Writes the mail about an invitation: who invites to what. The subject is one line. */
export function invitationMail({ from, game, role, url, siteName, isForOne }: Invited): {
  subject: string
  text: string
} {
  const what = role === 'maker' ? `make ${game.title} together` : `test ${game.title}`
  return {
    subject: `${from} invites you to ${what} · ${siteName}`.replace(/\s+/g, ' '),
    text: `${from} invites you to ${what} on ${siteName}.

Open this link to ${isForOne ? 'join. It is for one player' : 'join or to decline'}:

${url}

It is valid for two weeks. If you don't know ${from}, do nothing.
`,
  }
}
