import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { openBlob } from '../blobs/blobs.ts'
import type { Manifests } from '../manifest/manifests.ts'

/** The room script of one deploy. */
export interface DeployedRoomScript {
  /** SHA-256 of the source, in hexadecimal. */
  digest: string
  deployId: string
  source: string
  /** The path in the build. */
  path: string
}

/** A deploy of a game: the live one, that of `<slug>--<preview>.<domain>`, or a certain one. */
export type RoomScriptSource =
  | { from: 'live' }
  | { from: 'preview'; preview: string }
  | { from: 'deploy'; deployId: string }

/** The maximum size of all sources in memory, in characters. */
const CACHED_CHARACTERS = 32 * 1024 ** 2

type Parts = Pick<FastifyInstance, 'games'> & { storage: Storage; manifests: Manifests }

/** The room scripts of deploys. Sources are cached by content with least-recently-used eviction. */
export class RoomScripts {
  readonly #parts: Parts
  readonly #sources = new Map<string, Promise<string>>()
  #characters = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Returns a script of a game; null when its build has none, or the deploy does not exist any more. */
  async load(gameId: string, source: RoomScriptSource): Promise<DeployedRoomScript | null> {
    const deployId = await this.#deployOf(gameId, source)
    const script = deployId === null ? null : await this.#parts.manifests.roomScriptOf(deployId)
    if (deployId === null || script?.gameId !== gameId) return null
    return { digest: script.sha256, deployId, path: script.path, source: await this.#source(script) }
  }

  async #deployOf(gameId: string, source: RoomScriptSource): Promise<string | null> {
    const { games, manifests } = this.#parts
    if (source.from === 'deploy') return source.deployId
    if (source.from === 'preview') return manifests.byPreview(gameId, source.preview)
    return (await games.byId(gameId))?.liveDeployId ?? null
  }

  #source(file: { sha256: string; size: number }): Promise<string> {
    const key = keyOf(file)
    const known = this.#sources.get(key)
    if (known) {
      // Moves the entry to the end. The first entry is the least recently used.
      this.#sources.delete(key)
      this.#sources.set(key, known)
      return known
    }
    const loading = this.#load(file)
    this.#sources.set(key, loading)
    return loading
  }

  async #load(file: { sha256: string; size: number }): Promise<string> {
    const key = keyOf(file)
    try {
      const source = new TextDecoder().decode(await buffer(await openBlob(this.#parts.storage, file)))
      this.#characters += source.length
      for (const [oldest, entry] of this.#sources) {
        if (this.#characters <= CACHED_CHARACTERS || oldest === key) break
        this.#sources.delete(oldest)
        this.#characters -= (await entry).length
      }
      return source
    } catch (error) {
      this.#sources.delete(key)
      throw error
    }
  }
}

/** The size belongs to the key, since a false one gives other bytes. */
const keyOf = ({ sha256, size }: { sha256: string; size: number }) => `${sha256} ${size}`
