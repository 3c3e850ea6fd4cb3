import type { CallOptions, Connection } from './connection.ts'
import { type List, list } from './lists.ts'
import type { Answer, Body } from './types.ts'

export type GameMember = Answer<'/api/games/{id}/members', 'get'>['members'][number]
export type GameInvitation = Answer<'/api/games/{id}/invitations', 'post'>
export type NewGameInvitation = Body<'/api/games/{id}/invitations', 'post'>
export type GameTransfer = Answer<'/api/games/{id}/transfer', 'get'>

const at = (game: string, path: string) => `/api/games/${encodeURIComponent(game)}/${path}`
const memberAt = (game: string, playerId: string) => at(game, `members/${encodeURIComponent(playerId)}`)

/** Lists the owner, the makers and the testers of a game. Needs `games:read`. @param game id or slug, as in all calls */
export const listMembers = async (
  connection: Connection,
  game: string,
  options?: CallOptions,
): Promise<GameMember[]> => {
  const { members } = await connection.json<{ members: GameMember[] }>('GET', at(game, 'members'), options)
  return members
}

/** Makes a tester a maker, or a maker a tester. Only the owner may. Needs `games:write`. */
export const changeMember = (
  connection: Connection,
  game: string,
  playerId: string,
  role: 'maker' | 'tester',
  options?: CallOptions,
): Promise<void> => connection.json('PATCH', memberAt(game, playerId), { body: { role }, ...options })

/** Removes a member. A member who is not the owner may remove itself, which leaves the game. Needs `games:write`. */
export const removeMember = (
  connection: Connection,
  game: string,
  playerId: string,
  options?: CallOptions,
): Promise<void> => connection.json('DELETE', memberAt(game, playerId), options)

/**
 * Invites one player (`playerId`, or `email`), or everybody who has the link of the answer: 20 players in 14 days. Only the
 * owner may. Needs `games:write`.
 */
export const inviteMember = (
  connection: Connection,
  game: string,
  invitation: NewGameInvitation,
  options?: CallOptions,
): Promise<GameInvitation> => connection.json('POST', at(game, 'invitations'), { body: invitation, ...options })

/** Lists the invitations that can still be accepted, newest first. Only the owner may. Needs `games:read`. */
export const listInvitations = (
  connection: Connection,
  game: string,
  options: CallOptions & { limit?: number } = {},
): List<GameInvitation> =>
  list(connection, at(game, 'invitations'), 'invitations', {
    query: { limit: options.limit },
    signal: options.signal,
  })

/** Takes back an invitation. Players who accepted it stay. Needs `games:write`. */
export const revokeInvitation = (
  connection: Connection,
  game: string,
  invitationId: string,
  options?: CallOptions,
): Promise<void> => connection.json('DELETE', at(game, `invitations/${encodeURIComponent(invitationId)}`), options)

/** Fetches the open offer of a game, for its owner and for the maker who can accept it. Needs `games:read`. */
export const getTransfer = (connection: Connection, game: string, options?: CallOptions): Promise<GameTransfer> =>
  connection.json('GET', at(game, 'transfer'), options)

/** Offers a game to one of its makers, who can accept it within 7 days. Only the owner may. Needs `games:write`. */
export const offerTransfer = (
  connection: Connection,
  game: string,
  playerId: string,
  options?: CallOptions,
): Promise<GameTransfer> => connection.json('POST', at(game, 'transfer'), { body: { playerId }, ...options })

/** Makes the caller the owner of a game that is offered to the caller. Needs `games:write`. */
export const acceptTransfer = (connection: Connection, game: string, options?: CallOptions): Promise<void> =>
  connection.json('POST', at(game, 'transfer/accept'), options)

/** Takes back the offer of a game, or declines it. Needs `games:write`. */
export const endTransfer = (connection: Connection, game: string, options?: CallOptions): Promise<void> =>
  connection.json('DELETE', at(game, 'transfer'), options)
