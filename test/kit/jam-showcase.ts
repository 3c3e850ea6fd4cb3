import type { Test } from 'tap'
import { build, deploy } from '../plugins/deploy/build.ts'
import { Client, type Platform, type PlayerClient, startPlatform } from './platform.ts'

type Stage = 'begun' | 'voting' | 'results'

export interface JamShowcase {
  platform: Platform
  /** Organizes the jam. */
  host: PlayerClient
  /** Has a game in the jam. */
  maker: PlayerClient
  /** Joined with only a name. */
  guest: Client
}

const ENTRIES = ['Two in a Boat', 'Fence Hopper', 'Rain', 'Bürgersteigkantensteinwurfmeisterschaft', 'משחק של שניים']
const CATEGORIES = ['Overall', 'Fun', 'Looks']

/**
 * Opens a game jam on one laptop in the LAN mode: at its start, during the vote, or with the results on a projector.
 * The last stage uses https with a self-signed certificate, which browsers must be configured to trust.
 */
export async function openJamShowcase(t: Pick<Test, 'teardown'>, stage: Stage): Promise<JamShowcase> {
  const lan = { enabled: true, address: '127.0.0.1', name: 'yard', https: stage === 'results' }
  const program = { path: process.execPath, version: '1.2.3' }
  const platform = await startPlatform(t as Test, { listen: true, config: { lan }, program })
  const host = await platform.admin()
  const maker = await platform.signUp({ name: 'Ada-Marie von und zu Hohenstein-Württemberg' })
  const guest = new Client(platform.app)
  await guest.post('/api/auth/guest', { name: 'Gus' })
  const deadline = new Date(platform.clock.now().getTime() + 172_800_000).toISOString()
  const jam = { title: 'Yard jam', theme: 'Two is company', categories: CATEGORIES, deadline }
  await host.post('/api/jam', jam)
  if (stage === 'begun') return { platform, host, maker, guest }

  const games: string[] = []
  for (const [index, title] of ENTRIES.entries()) {
    const player = index === 0 ? maker : await platform.signUp({ name: `Maker of ${title}` })
    const game = await platform.game(player, { title })
    await deploy(platform, await platform.program(player), game.id, build(title))
    await player.post('/api/jam/entries', { gameId: game.id })
    games.push(game.id)
  }
  await host.patch('/api/jam', { submissionsOpen: false, votingOpen: true })
  for (const [index, voter] of [host, guest, await platform.signUp({ name: 'Linus' })].entries()) {
    for (const [at, name] of CATEGORIES.entries()) {
      const gameId = games[(index * at + 1) % games.length]
      const { status, text } = await voter.put(`/api/jam/votes/${name.toLowerCase()}`, { gameId })
      if (status >= 300) throw new Error(`The vote was answered with ${status}: ${text}`)
    }
  }
  if (stage === 'results') {
    await host.patch('/api/jam', { votingOpen: false })
    await host.patch('/api/jam', { revealed: 100 })
  }
  return { platform, host, maker, guest }
}

/** Returns every page of the jam, grouped by viewer. */
export const jamPagesOf = (stage: Stage): Record<'stranger' | 'guest' | 'maker' | 'host', string[]> =>
  stage === 'voting'
    ? {
        stranger: ['/', '/jam', '/jam/results', '/join', '/join/certificate', '/download', '/sign-in'],
        guest: ['/', '/jam', '/join', '/settings'],
        maker: ['/jam'],
        host: ['/jam', '/jam/results', '/join'],
      }
    : {
        stranger: ['/jam', '/jam/results', '/jam/past', '/join', '/join/certificate'],
        guest: ['/jam'],
        maker: ['/jam'],
        host: ['/jam', '/jam/results'],
      }
