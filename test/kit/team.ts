import type { Test } from 'tap'
import { type Client, type PlatformOptions, type PlayerClient, startPlatform } from './platform.ts'

/**
 * Makes players makers or testers of a game, by a link of its owner.
 *
 * @returns the invitation, with the path of the link
 */
export async function join(
  owner: Client,
  game: { id: string },
  role: 'maker' | 'tester',
  players: readonly PlayerClient[],
): Promise<{ id: string; path: string }> {
  const { status, body } = await owner.post(`/api/games/${game.id}/invitations`, { role })
  if (status !== 201) throw new Error(`The invitation was answered with ${status}: ${body.error?.message}`)
  const path = new URL(body.url).pathname
  for (const player of players) await player.submit(path, {})
  return { id: body.id, path }
}

/**
 * Starts the platform with a private game of Olu, its makers Mae and Fay, of whom Fay was removed again, its tester Tia,
 * and Ned, who has no part in it.
 *
 * @returns also a program of each, in this order
 */
export async function startTeam(t: Test, options: PlatformOptions = {}) {
  const platform = await startPlatform(t, options)
  const people: PlayerClient[] = []
  for (const name of ['Olu', 'Mae', 'Fay', 'Tia', 'Ned']) people.push(await platform.signUp({ name }))
  const [owner, maker, former, tester, other] = people as [
    PlayerClient,
    PlayerClient,
    PlayerClient,
    PlayerClient,
    PlayerClient,
  ]
  const game = await platform.game(owner, { title: 'Duo', visibility: 'private' })
  await join(owner, game, 'maker', [maker, former])
  await join(owner, game, 'tester', [tester])
  await owner.delete(`/api/games/${game.id}/members/${former.id}`)
  const programs = await Promise.all(people.map((player) => platform.program(player)))
  const [program, makersProgram] = programs as [Client, Client]
  return { platform, app: platform.app, owner, maker, former, tester, other, game, program, makersProgram, programs }
}
