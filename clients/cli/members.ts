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

/** The offer of a game to one of its makers. */
export interface Transfer {
  from: { id: string; name: string }
  to: { id: string; name: string }
  counts: { games: number; storedBytes: number }
  expiresAt: string
}

export const readTransfer = (api: Api, gameId: string): Promise<Transfer> =>
  api.get<Transfer>(`${pathOf(gameId)}/transfer`)

/** Offers a game to one of its makers. @param player the id, or the name where only one member has it */
export async function offerGame(api: Api, gameId: string, player: string): Promise<Transfer> {
  const named = (await listMembers(api, gameId)).filter((member) => member.player.name === player)
  const playerId = named.length === 1 && named[0] ? named[0].player.id : player
  return api.post<Transfer>(`${pathOf(gameId)}/transfer`, { playerId })
}

export const acceptGame = (api: Api, gameId: string): Promise<unknown> =>
  api.post(`${pathOf(gameId)}/transfer/accept`, {})

/** Declines the offer of a game, or takes it back. */
export const endTransfer = (api: Api, gameId: string): Promise<unknown> => api.delete(`${pathOf(gameId)}/transfer`)

/** Ends the membership of the player whose token it is. */
export async function leaveGame(api: Api, gameId: string): Promise<void> {
  const { user } = await api.get<{ user: { id: string } }>('/api/cli/whoami')
  await api.delete(`${pathOf(gameId)}/members/${encodeURIComponent(user.id)}`)
}
