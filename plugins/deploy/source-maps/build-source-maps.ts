import { text } from 'node:stream/consumers'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { openBlob } from '../blobs/blobs.ts'
import type { Manifest, Manifests } from '../manifest/manifests.ts'
import type { ScriptWorker } from '../script-worker.ts'
import type { Place, SourcePlace } from './places.ts'

/** The largest source map that is read. */
const LONGEST_MAP = 8 * 1024 ** 2
/** The maximum number of places in memory. */
const CACHED_PLACES = 2000

/** A place in a file of a build. */
interface BuildPlace extends Place {
  path: string
}

interface Parts {
  storage: Storage
  manifests: Pick<Manifests, 'of'>
  worker: ScriptWorker
}

/** Finds places of scripts in the files that they were bundled from, by the source maps beside them in the build. */
export class BuildSourceMaps {
  readonly #parts: Parts
  readonly #places = new Map<string, SourcePlace | null>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * @param places in scripts of a deploy; the map of `main.js` is `main.js.map`
   * @param owner whose work it is, such as the id of the game
   * @returns null for each place without a map, or that its map does not know
   */
  async locate(deployId: string, places: readonly BuildPlace[], owner: string): Promise<(SourcePlace | null)[]> {
    const manifest = await this.#parts.manifests.of(deployId)
    if (!manifest) return places.map(() => null)
    const found = new Map<BuildPlace, SourcePlace | null>()
    for (const [path, ofPath] of Map.groupBy(places, (place) => place.path)) {
      const located = await this.#locateIn(manifest, path, ofPath, owner)
      for (const [index, place] of ofPath.entries()) found.set(place, located[index] ?? null)
    }
    return places.map((place) => found.get(place) ?? null)
  }

  async #locateIn(manifest: Manifest, path: string, places: readonly BuildPlace[], owner: string) {
    const map = manifest.get(`${path}.map`)
    if (!map || map.size > LONGEST_MAP) return []
    const keyOf = ({ line, column }: Place) => `${map.sha256} ${line}:${column}`
    const unknown = places.filter((place) => !this.#places.has(keyOf(place)))
    const found = new Map(places.map((place) => [keyOf(place), this.#places.get(keyOf(place)) ?? null]))
    if (unknown.length > 0) {
      const json = await text(await openBlob(this.#parts.storage, map))
      const located = await this.#parts.worker.locate({ json }, unknown, owner)
      for (const [index, place] of unknown.entries()) {
        found.set(keyOf(place), located[index] ?? null)
        this.#remember(keyOf(place), located[index] ?? null)
      }
    }
    return places.map((place) => found.get(keyOf(place)) ?? null)
  }

  #remember(key: string, place: SourcePlace | null): void {
    this.#places.set(key, place)
    const [oldest] = this.#places.keys()
    if (this.#places.size > CACHED_PLACES) this.#places.delete(oldest as string)
  }
}
