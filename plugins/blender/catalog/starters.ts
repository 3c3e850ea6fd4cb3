import { createHash } from 'node:crypto'
import Type, { type Static } from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { harnessRecords, harnessText } from '../worker/harness-files.ts'

export const Starter = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  title: Type.String(),
  dataBlocks: Type.Array(Type.Object({ type: Type.String(), name: Type.String() }), {
    description: 'Objects that it adds to the scene, by name.',
  }),
  provenance: Type.String(),
  license: Type.String(),
  sha256: Type.String({ description: 'Of what `url` gives.' }),
  quality: Type.String(),
  coordinates: Type.Object({ up: Type.String(), forward: Type.String(), unitMeters: Type.Number() }),
  url: Type.String({ description: 'The program that makes it, in Python.' }),
})
export type Starter = Static<typeof Starter>
export const StarterList = Type.Object({ starters: Type.Array(Starter) })

/** A line of harness/starters/catalog.json. */
interface CatalogRecord {
  id: string
  kind: string
  title: string
  materials: string[]
}

/**
 * Ready-made parts that a job may begin with. Each is a program of the platform (harness/starters) that runs in the
 * job. The program is what is published, checked and licensed, and every Blender creates the same part from it.
 */
export class Library {
  readonly #studio: string
  #all: Map<string, Starter> | null = null

  /** @param studio the Studio's origin */
  constructor(studio: string) {
    this.#studio = studio
  }

  list(): Starter[] {
    return [...this.#load().values()]
  }

  has(id: string): boolean {
    return this.#load().has(id)
  }

  /** Returns the program of a starter. @throws NotFound */
  program(id: string): string {
    if (!this.has(id)) throw new NotFound('starter')
    return harnessText(fileOf(id))
  }

  /** Whether every program exists. */
  health(): { status: 'ok' | 'damaged'; items: number } {
    try {
      return { status: 'ok', items: this.#load().size }
    } catch {
      return { status: 'damaged', items: 0 }
    }
  }

  #load(): Map<string, Starter> {
    this.#all ??= new Map(
      harnessRecords<CatalogRecord[]>('starters')
        .flat()
        .map((record) => [record.id, this.#starterOf(record)]),
    )
    return this.#all
  }

  #starterOf({ id, kind, title, materials }: CatalogRecord): Starter {
    const named = (type: string, name: string) => ({ type, name })
    return {
      id,
      kind,
      title,
      dataBlocks: [named('Object', id), named('Mesh', id), ...materials.map((name) => named('Material', name))],
      provenance: `Made by ${fileOf(id)}, part of Gameyard.`,
      license: 'CC0-1.0',
      sha256: createHash('sha256')
        .update(harnessText(fileOf(id)))
        .digest('hex'),
      quality: 'low-poly, plain materials, no textures',
      coordinates: { up: '+Z', forward: '-Y', unitMeters: 1 },
      url: `${this.#studio}/api/blender/v1/library/${id}`,
    }
  }
}

const fileOf = (id: string): string => `starters/${id.replaceAll('-', '_')}.py`
