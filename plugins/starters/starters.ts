import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../core/errors.ts'
import type { Game } from '../games/index.ts'
import { featuresOf, findStarter } from './catalog.ts'
import { filesOf, type StarterFile } from './files.ts'

type Parts = Pick<FastifyInstance, 'deploys' | 'games' | 'scores'>

/** Makes games from starters. */
export class Starters {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Makes a game with the files of a starter, and puts it live by an ordinary deploy.
   *
   * @param title of the game; by default the starter's
   * @throws NotFound when there is no such starter
   * @throws QuotaExceeded, StorageFull: no game is made
   */
  async create(playerId: string, { starter: name, title }: { starter: string; title?: string }): Promise<Game> {
    const starter = findStarter(name)
    if (!starter) throw new NotFound('starter')
    const { games, scores } = this.#parts
    const files = await filesOf(starter, title)
    const { summary: description, tags, boards = [], room } = starter
    const features = featuresOf(starter)
    const game = await games.create(playerId, { title: title ?? starter.title, description, tags, features })
    try {
      for (const { id, ...fields } of boards) await scores.boards.put(game.id, id, fields)
      const message = `From the starter ${name}`
      await this.#deploy(playerId, files, { gameId: game.id, message, ...(room ? { room } : {}) })
    } catch (error) {
      await games.deletion.removeForGood(playerId, game.id, game.slug)
      throw error
    }
    return games.mustOwn(playerId, game.id)
  }

  async #deploy(
    playerId: string,
    files: StarterFile[],
    deploy: { gameId: string; message: string; room?: string },
  ): Promise<void> {
    const { deploys } = this.#parts
    const hashed = files.map(({ path, bytes }) => ({
      bytes,
      announced: { path, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
    }))
    const byDigest = new Map(hashed.map(({ bytes, announced }) => [announced.sha256, bytes]))
    const announced = hashed.map((file) => file.announced)
    await deploys.unresumable.run(async (deployId) => {
      const { wanted } = await deploys.begin(playerId, { ...deploy, files: announced }, deployId)
      for (const { sha256, size } of wanted) {
        await deploys.uploads.store(deployId, { sha256, size }, Readable.from([byDigest.get(sha256)]))
      }
      await deploys.finalize(playerId, deployId)
    })
  }
}
