import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { makeFolder } from '../../../core/data/folders/make-folder.ts'
import { WorkerPool } from '../../../core/jobs/worker-pool.ts'
import { coverSvg } from '../../../core/pages/index.ts'
import type { Game } from '../schemas.ts'
import type { CardAnswer, CardTask } from './worker-messages.ts'

/** The version of the drawing code. An increase invalidates cached cards. */
const EDITION = 1
const IDLE_MS = 5_000
const LONGEST_MS = 20_000
/** The maximum number of cards on this node's disk. An evicted card is drawn again on request. */
const KEPT = 2_000
/** The maximum number of pixels of a picture. For a larger one the generated cover is used, to save memory. */
const MOST_PIXELS = 40_000_000

type Parts = Pick<FastifyInstance, 'config' | 'workerPrograms' | 'origins' | 'site' | 'log'> & {
  /** Returns the bytes of a game's picture. */
  picture: (mediaId: string) => Promise<Uint8Array | null>
}

/** The content of a card, and a key for exactly this content. */
interface Design {
  key: string
  task: Omit<CardTask, 'picture'>
  /** The id of the game's own picture. */
  mediaId: string | null
}

/** The preview images of shared links, 1200 by 630. They are drawn on first request in a worker thread, then cached. */
export class Cards {
  readonly #parts: Parts
  readonly #pool: WorkerPool<CardTask, CardAnswer>
  readonly #folder: string
  readonly #underWay = new Map<string, Promise<Buffer>>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#folder = join(parts.config.dataDir, 'cache/cards')
    const program = () => parts.workerPrograms.text('cards')
    this.#pool = new WorkerPool({ name: 'cards', program, idleMs: IDLE_MS, heapMb: 512 })
  }

  /** Returns the content of a game's card. */
  ofGame(game: Game): Design {
    const { origins, site } = this.#parts
    const cover = game.media.find(({ url }) => url === game.coverUrl)
    const mediaId = cover?.kind === 'image' && cover.width * cover.height <= MOST_PIXELS ? cover.id : null
    const address = new URL(game.playUrl).host + new URL(game.playUrl).pathname
    return design({
      mediaId,
      task: {
        title: game.title,
        site: site.name,
        address: game.url.startsWith(origins.portal) ? address : new URL(game.url).host,
        drawing: coverSvg(game.id, game.title),
      },
    })
  }

  /** Returns the content of the platform's card. */
  ofSite(): Design {
    const { origins, site } = this.#parts
    const task = { title: 'Games to play right here', site: site.name, address: new URL(origins.portal).host }
    return design({ mediaId: null, task: { ...task, drawing: coverSvg(site.name, 'castle') } })
  }

  /** Returns the PNG. Concurrent requests for the same design share one drawing. */
  async png(card: Design): Promise<Buffer> {
    const known = this.#underWay.get(card.key) ?? this.#make(card).finally(() => this.#underWay.delete(card.key))
    this.#underWay.set(card.key, known)
    return known
  }

  /** Deletes the least recently used cards. */
  async evict(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => [])
    if (names.length <= KEPT) return
    const ages = await Promise.all(
      names.map(async (name) => {
        const file = join(this.#folder, name)
        return { file, at: (await stat(file).catch(() => null))?.mtimeMs ?? 0 }
      }),
    )
    for (const { file } of ages.sort((a, b) => b.at - a.at).slice(KEPT)) await rm(file, { force: true })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #make({ key, task, mediaId }: Design): Promise<Buffer> {
    const file = join(this.#folder, `${key}.png`)
    const kept = await readFile(file).catch(() => null)
    if (kept) {
      const now = new Date()
      void utimes(file, now, now).catch(() => {})
      return kept
    }
    const picture = mediaId ? await this.#parts.picture(mediaId).catch(() => null) : null
    const answer = await this.#pool.run({ ...task, picture }, { longestMs: LONGEST_MS })
    if ('failure' in answer) throw new Error(answer.failure)
    const png = Buffer.from(answer.png)
    // A full disk must not prevent the response.
    await this.#keep(file, png).catch((error) => this.#parts.log.warn({ err: error }, 'storing a card failed'))
    return png
  }

  async #keep(file: string, png: Buffer): Promise<void> {
    await makeFolder(this.#folder)
    const scratch = `${file}.${randomBytes(6).toString('hex')}`
    await writeFile(scratch, png)
    await rename(scratch, file)
  }
}

const design = (content: Omit<Design, 'key'>): Design => ({
  ...content,
  key: createHash('sha256')
    .update(JSON.stringify([EDITION, content]))
    .digest('base64url')
    .slice(0, 22),
})
