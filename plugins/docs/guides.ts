import { groupGuides } from './guide-order.ts'
import type { RenderedGuide } from './render.ts'
import { type Found, SearchIndex } from './search.ts'
import type { GuideSource } from './source.ts'

export interface Guide extends RenderedGuide {
  name: string
}

interface Shelf {
  groups: { title: string; guides: Guide[] }[]
  /** One after the other, as they are read. */
  guides: Guide[]
  index: SearchIndex
}

/** Every guide, rendered once, when the first reader comes: a start does not wait for pages that nobody may open. */
export class Guides {
  readonly #source: GuideSource
  #shelf: Promise<Shelf> | null = null

  constructor(source: GuideSource) {
    this.#source = source
  }

  /** The guides by group, in reading order. */
  async groups(): Promise<Shelf['groups']> {
    return (await this.#open()).groups
  }

  /** A guide with those before and after it; null when there is none of that name. */
  async find(name: string): Promise<{ guide: Guide; previous: Guide | null; next: Guide | null } | null> {
    const { guides } = await this.#open()
    const at = guides.findIndex((guide) => guide.name === name)
    const guide = guides[at]
    return guide ? { guide, previous: guides[at - 1] ?? null, next: guides[at + 1] ?? null } : null
  }

  /**
   * Finds the sections that contain every word of a query, best match first; the last word may be a prefix.
   *
   * @param limit the largest number of results
   */
  async search(query: string, limit = 12): Promise<Found[]> {
    return (await this.#open()).index.find(query, limit)
  }

  #open(): Promise<Shelf> {
    this.#shelf ??= this.#read().catch((error) => {
      this.#shelf = null
      throw error
    })
    return this.#shelf
  }

  async #read(): Promise<Shelf> {
    const { renderGuide } = await import('./render.ts')
    const groups: Shelf['groups'] = []
    for (const { title, names } of groupGuides(await this.#source.names())) {
      const read = async (name: string): Promise<Guide> => ({ name, ...renderGuide(await this.#source.text(name)) })
      groups.push({ title, guides: await Promise.all(names.map(read)) })
    }
    const guides = groups.flatMap((group) => group.guides)
    return { groups, guides, index: new SearchIndex(guides) }
  }
}
