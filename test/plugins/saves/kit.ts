import type { Test } from 'tap'
import { type Answer, type Client, type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { signInTo } from '../multiplayer/kit.ts'

/** A game with two signed-in players, without its browser. */
export async function startWithGame(t: Test, options: Parameters<typeof startPlatform>[1] = {}) {
  const platform = await startPlatform(t, options)
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner, { title: 'Pong' })
  const host = platform.gameHost(game.slug)
  const [ada, bob] = [await enter(platform, host), await enter(platform, host)]
  return { platform, app: platform.app, owner, game, host, ada, bob }
}

/** Returns the saves of a new player who is signed in to the game. */
export async function enter(platform: Platform, host: string): Promise<PlayerSaves> {
  const player = await platform.signUp()
  await signInTo(player, host)
  return new PlayerSaves(player, host)
}

/** The routes on a game's origin, as a page of the game calls them. */
export class PlayerSaves {
  readonly player: PlayerClient
  readonly #host: string

  constructor(player: PlayerClient, host: string) {
    this.player = player
    this.#host = host
  }

  get id(): string {
    return this.player.id
  }

  request(method: string, path: string, body?: unknown, headers: Record<string, string | undefined> = {}) {
    return (this.player as Client).request(method, `/__service/saves${path}`, body, { host: this.#host, headers })
  }

  put(key: string, body: string | Buffer, headers: Record<string, string | undefined> = {}): Promise<Answer> {
    return this.request('PUT', `/${key}`, body, { 'content-type': 'text/plain', ...headers })
  }

  get = (key: string, headers: Record<string, string> = {}) => this.request('GET', `/${key}`, undefined, headers)
  delete = (key: string, headers: Record<string, string> = {}) => this.request('DELETE', `/${key}`, undefined, headers)
  versions = (key: string) => this.request('GET', `/${key}/versions`)
  restore = (key: string, version: number) => this.request('POST', `/${key}/restore`, { version })
  list = () => this.request('GET', '')
}
