import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { openBlob } from '../blobs/blobs.ts'
import type { Manifests } from '../manifest/manifests.ts'
import type { ScriptWorker } from '../script-worker.ts'
import { excerptOf, type Place, type SourcePlace } from '../source-maps/places.ts'
import { splitSourceMap } from '../source-maps/source-map.ts'

/** The room script of one deploy. */
export interface DeployedRoomScript {
  /** SHA-256 of the file, in hexadecimal. */
  digest: string
  deployId: string
  source: string
  /** The source map that the file ends with, in Base64. */
  sourceMap: string | null
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
/** The maximum number of places in memory. */
const CACHED_PLACES = 1000

type Parts = Pick<FastifyInstance, 'games'> & { storage: Storage; manifests: Manifests; worker: ScriptWorker }
type Text = ReturnType<typeof splitSourceMap>

/** The room scripts of deploys. Sources are cached by content with least-recently-used eviction. */
export class RoomScripts {
  readonly #parts: Parts
  readonly #sources = new Map<string, Promise<Text>>()
  #characters = 0
  readonly #places = new Map<string, SourcePlace>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Returns a script of a game; null when its build has none, or the deploy does not exist any more. */
  async load(gameId: string, source: RoomScriptSource): Promise<DeployedRoomScript | null> {
    const deployId = await this.#deployOf(gameId, source)
    const script = deployId === null ? null : await this.#parts.manifests.roomScriptOf(deployId)
    if (deployId === null || script?.gameId !== gameId) return null
    return { digest: script.sha256, deployId, path: script.path, ...(await this.#text(script)) }
  }

  /**
   * Finds places of a deploy's room script in the files as their author wrote them: by the source map of a bundle, and
   * in the script itself where it has none, or the map does not name the place.
   *
   * @returns null for all places when there is no such script any more
   */
  async locate(gameId: string, deployId: string, places: readonly Place[]): Promise<(SourcePlace | null)[]> {
    const script = await this.load(gameId, { from: 'deploy', deployId })
    if (!script) return places.map(() => null)
    const { digest, path, source, sourceMap } = script
    const keyOfPlace = ({ line, column }: Place) => `${digest} ${path}:${line}:${column}`
    const found = new Map(places.map((place) => [keyOfPlace(place), this.#places.get(keyOfPlace(place)) ?? null]))
    const unknown = places.filter((place) => found.get(keyOfPlace(place)) === null)
    const located =
      sourceMap && unknown.length > 0 ? await this.#parts.worker.locate({ base64: sourceMap }, unknown, gameId) : []
    for (const [index, place] of unknown.entries()) {
      const own = { path, ...place, excerpt: excerptOf(source, place.line) }
      this.#remember(keyOfPlace(place), located[index] ?? own)
      found.set(keyOfPlace(place), located[index] ?? own)
    }
    return places.map((place) => found.get(keyOfPlace(place)) ?? null)
  }

  #remember(key: string, place: SourcePlace): void {
    this.#places.set(key, place)
    const [oldest] = this.#places.keys()
    if (this.#places.size > CACHED_PLACES) this.#places.delete(oldest as string)
  }

  async #deployOf(gameId: string, source: RoomScriptSource): Promise<string | null> {
    const { games, manifests } = this.#parts
    if (source.from === 'deploy') return source.deployId
    if (source.from === 'preview') return manifests.byPreview(gameId, source.preview)
    return (await games.byId(gameId))?.liveDeployId ?? null
  }

  #text(file: { sha256: string; size: number }): Promise<Text> {
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

  async #load(file: { sha256: string; size: number }): Promise<Text> {
    const key = keyOf(file)
    try {
      const text = splitSourceMap(new TextDecoder().decode(await buffer(await openBlob(this.#parts.storage, file))))
      this.#characters += lengthOf(text)
      for (const [oldest, entry] of this.#sources) {
        if (this.#characters <= CACHED_CHARACTERS || oldest === key) break
        this.#sources.delete(oldest)
        this.#characters -= lengthOf(await entry)
      }
      return text
    } catch (error) {
      this.#sources.delete(key)
      throw error
    }
  }
}

const lengthOf = ({ source, sourceMap }: Text): number => source.length + (sourceMap?.length ?? 0)

/** The size belongs to the key, since a false one gives other bytes. */
const keyOf = ({ sha256, size }: { sha256: string; size: number }) => `${sha256} ${size}`
