import Type, { type Static } from 'typebox'
import { harnessRecords } from './harness-files.ts'

export const Starter = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  title: Type.String(),
  dataBlocks: Type.Array(Type.Object({ type: Type.String(), name: Type.String() })),
  provenance: Type.String(),
  license: Type.String(),
  sha256: Type.String({ description: 'Of the program that makes it.' }),
  quality: Type.String(),
  coordinates: Type.Object({ up: Type.String(), forward: Type.String(), unitMeters: Type.Number() }),
  url: Type.Union([Type.String(), Type.Null()]),
})
export type Starter = Static<typeof Starter>
export const StarterList = Type.Object({ starters: Type.Array(Starter) })

/** Ready-made parts that a job may begin with, made by our own programs (harness/starters). */
export class Library {
  #all: Map<string, Starter> | null = null

  list(): Starter[] {
    return [...this.#load().values()]
  }

  has(id: string): boolean {
    return this.#load().has(id)
  }

  async health(): Promise<{ status: 'ok' | 'building' | 'unbuilt'; items: number }> {
    return { status: 'ok', items: this.#load().size }
  }

  #load(): Map<string, Starter> {
    this.#all ??= new Map(
      harnessRecords<Starter[]>('starters')
        .flat()
        .map((starter) => [starter.id, starter]),
    )
    return this.#all
  }
}
