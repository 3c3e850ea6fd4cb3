import type { Api } from './api.ts'

export type MemberRole = 'maker' | 'tester'

/** A member of a game as the platform describes it. */
export interface Member {
  player: { id: string; name: string }
  role: 'owner' | MemberRole
  since: string | null
}

/** An invitation to a game. */
export interface Invitation {
  id: string
  url: string
  role: MemberRole
  usesLeft: number
  expiresAt: string
}

const pathOf = (gameId: string) => `/api/games/${encodeURIComponent(gameId)}`

export const listMembers = async (api: Api, gameId: string): Promise<Member[]> =>
  (await api.get<{ members: Member[] }>(`${pathOf(gameId)}/members`)).members

export const invite = (
  api: Api,
  gameId: string,
  invited: { role: MemberRole; playerId?: string; email?: string },
): Promise<Invitation> => api.post<Invitation>(`${pathOf(gameId)}/invitations`, invited)

/** Ends the membership of the player whose token it is. */
export async function leaveGame(api: Api, gameId: string): Promise<void> {
  const { user } = await api.get<{ user: { id: string } }>('/api/cli/whoami')
  await api.delete(`${pathOf(gameId)}/members/${encodeURIComponent(user.id)}`)
}
