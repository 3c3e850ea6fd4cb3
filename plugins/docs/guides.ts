import { groupGuides } from './guide-order.ts'
import { fillInText, type GuideOrigins } from './placeholders.ts'
import type { RenderedGuide } from './render.ts'
import { type Found, type Passage, SearchIndex } from './search.ts'
import type { GuideSource } from './source.ts'

export interface Guide extends RenderedGuide {
  name: string
}

interface Shelf {
  groups: { title: string; guides: Guide[] }[]
  /** The guides in reading order. */
  guides: Guide[]
  index: SearchIndex
}

/** All guides, rendered once at the first visit, so that they do not slow the start. */
export class Guides {
  readonly #source: GuideSource
  readonly #origins: GuideOrigins
  #shelf: Promise<Shelf> | null = null

  constructor(source: GuideSource, origins: GuideOrigins) {
    this.#source = source
    this.#origins = origins
  }

  /** Returns the guides by group, in reading order. */
  async groups(): Promise<Shelf['groups']> {
    return (await this.#open()).groups
  }

  /** Returns a guide with its neighbours; null when there is none of this name. */
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

  /**
   * Finds whole sections, best match first: those that contain every word of a query, or else any of them.
   *
   * @param limit the largest number of results
   */
  async passages(query: string, limit = 4): Promise<Passage[]> {
    return (await this.#open()).index.passages(query, limit)
  }

  /** Returns a guide in Markdown, with the addresses of this platform; null when there is none of this name. */
  async markdown(name: string): Promise<string | null> {
    return (await this.find(name)) && fillInText(await this.#source.text(name), this.#origins)
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
      const read = async (name: string): Promise<Guide> => {
        const rendered = renderGuide(await this.#source.text(name))
        return { name, ...rendered, sections: rendered.sections.map((section) => this.#filledIn(section)) }
      }
      groups.push({ title, guides: await Promise.all(names.map(read)) })
    }
    const guides = groups.flatMap((group) => group.guides)
    return { groups, guides, index: new SearchIndex(guides) }
  }

  /** The HTML of a guide is filled in for each reader; what search finds is the same for all. */
  #filledIn({ id, ...parts }: RenderedGuide['sections'][number]): RenderedGuide['sections'][number] {
    const filled = Object.entries(parts).map(([name, text]) => [name, fillInText(text, this.#origins)])
    return { id, ...Object.fromEntries(filled) }
  }
}
