import type { Test } from 'tap'
import { startPlatform } from '../../kit/platform.ts'

/** Makes a game from a starter, on a platform that listens. */
export async function withGame(t: Test) {
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp({ name: 'Ada' })
  await player.submit('/games/new/starter', { starter: 'page', title: 'Pond' })
  const fileAt = (path: string) => `/api/games/pond/draft/files/${encodeURIComponent(path)}`
  const textOf = async (path: string) => (await player.get(fileAt(path))).text
  const save = (path: string, text: string) =>
    player.put(fileAt(path), Buffer.from(text), { headers: { 'content-type': 'text/plain' } })
  return { platform, player, textOf, save }
}
