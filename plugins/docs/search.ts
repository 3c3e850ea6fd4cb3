import { isForMakers } from './guide-order.ts'
import type { RenderedGuide } from './render.ts'

/** A search result: a section. */
export interface Found {
  /** The path of the section on the portal. */
  href: string
  /** The title of the guide. */
  guide: string
  /** The heading of the section; the guide's title for text before the first heading. */
  heading: string
  /** Some words around the first match, in pieces. The pieces at odd indexes are matches. */
  excerpt: string[]
}

/** A search result with the whole section, for programs. */
export interface Passage extends Pick<Found, 'href' | 'guide' | 'heading'> {
  /** The section in Markdown, or the beginning of a long one. */
  text: string
  /** Whether the guide goes on with this section. */
  cut: boolean
}

interface Section {
  href: string
  guide: string
  heading: string
  text: string
  /** Code is searched, but appears in the excerpt only if nothing else matches. */
  code: string
  markdown: string
  isForMakers: boolean
}

/** A match in a heading counts more than one in the text. */
const WEIGHTS = { guide: 3, heading: 6, text: 1, code: 1 }
const EXCERPT = 150
/** The longest text of a passage, in characters. Longer ones fill the context of an assistant. */
const LONGEST_PASSAGE = 4000
/** How much a section for hosts counts for an assistant, which makes games. */
const OTHERS_WEIGHT = 0.6

/** A small full-text index over the sections of all guides. It maps words to sections with weights. */
export class SearchIndex {
  readonly #sections: Section[]
  readonly #weights = new Map<string, Map<number, number>>()
  /** Sorted, so that words with a common prefix are adjacent. */
  readonly #words: string[]

  constructor(guides: readonly (RenderedGuide & { name: string })[]) {
    this.#sections = guides.flatMap(({ name, title, sections }) =>
      sections.map(({ id, heading, text, code, markdown }) => ({
        href: `/docs/${name}${id && `#${id}`}`,
        guide: title,
        heading,
        text: text.replace(/\s+/g, ' ').trim(),
        code: code.replace(/\s+/g, ' ').trim(),
        markdown: markdown.trim(),
        isForMakers: isForMakers(name),
      })),
    )
    this.#sections.forEach((section, index) => {
      for (const field of ['guide', 'heading', 'text', 'code'] as const) {
        for (const word of wordsOf(section[field])) this.#add(word, index, WEIGHTS[field])
      }
    })
    this.#words = [...this.#weights.keys()].sort()
  }

  /** @see Guides.search */
  find(query: string, limit: number): Found[] {
    const asked = askedIn(query)
    if (asked.length === 0) return []
    const scores = asked.map((word) => this.#scoresOf(word)).reduce(both)
    return best(scores, limit).map((at) => this.#foundAt(at, asked))
  }

  /** @see Guides.passages */
  passages(query: string, limit: number): Passage[] {
    const asked = askedIn(query)
    if (asked.length === 0) return []
    const words = asked.map((word) => this.#scoresOf(word))
    const all = words.reduce(both)
    const scores = [...(all.size > 0 ? all : words.reduce(either))].map(([at, score]) => {
      return [at, this.#sections[at]?.isForMakers ? score : score * OTHERS_WEIGHT] as const
    })
    return best(new Map(scores), limit).map((at) => {
      const { href, guide, heading, markdown } = this.#sections[at] as Section
      return { href, guide, heading, ...shortened(markdown) }
    })
  }

  #add(word: string, section: number, weight: number): void {
    const weights = this.#weights.get(word) ?? new Map<number, number>()
    this.#weights.set(word, weights)
    weights.set(section, (weights.get(section) ?? 0) + weight)
  }

  /** Scores all words with a prefix. A whole word counts more than a prefix, and a rare word more than a common one. */
  #scoresOf(beginning: string): Map<number, number> {
    const scores = new Map<number, number>()
    for (let at = lowerBound(this.#words, beginning); this.#words[at]?.startsWith(beginning); at++) {
      const word = this.#words[at] as string
      const weights = this.#weights.get(word) ?? new Map<number, number>()
      const rarity = Math.log(1 + this.#sections.length / weights.size) * (word === beginning ? 2 : 1)
      for (const [section, weight] of weights) {
        scores.set(section, Math.max(scores.get(section) ?? 0, rarity * (1 + Math.log(weight))))
      }
    }
    return scores
  }

  #foundAt(at: number, asked: string[]): Found {
    const { href, guide, heading, ...words } = this.#sections[at] as Section
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}])((?:${asked.join('|')})[\\p{L}\\p{N}]*)`, 'giu')
    const inWords = [guide, heading, words.text].some((part) => part.search(pattern) >= 0)
    const inCode = words.text === '' || (!inWords && words.code.search(pattern) >= 0)
    const text = inCode ? words.code : words.text
    const first = Math.max(0, text.search(pattern))
    const from = first < EXCERPT / 2 ? 0 : text.lastIndexOf(' ', first - 40) + 1
    const cut = text.slice(from, from + EXCERPT)
    const ended = from + EXCERPT < text.length ? `${cut.slice(0, cut.lastIndexOf(' '))} …` : cut
    return { href, guide, heading, excerpt: `${from > 0 ? '… ' : ''}${ended}`.split(pattern) }
  }
}

/** Cuts a long section at the end of a line; an open block of code is closed. */
function shortened(markdown: string): Pick<Passage, 'text' | 'cut'> {
  if (markdown.length <= LONGEST_PASSAGE) return { text: markdown, cut: false }
  const text = markdown.slice(0, markdown.lastIndexOf('\n', LONGEST_PASSAGE))
  const isInCode = (text.match(/^```/gm)?.length ?? 0) % 2 === 1
  return { text: isInCode ? `${text}\n\`\`\`` : text, cut: true }
}

const askedIn = (query: string): string[] => [...new Set(wordsOf(query))].slice(0, 8)

/** Returns the sections with the highest scores. */
const best = (scores: Map<number, number>, limit: number): number[] =>
  [...scores]
    .sort(([a, first], [b, second]) => second - first || a - b)
    .slice(0, limit)
    .map(([at]) => at)

/** Returns the results in either map, with the sum of their scores. */
const either = (first: Map<number, number>, second: Map<number, number>): Map<number, number> =>
  new Map([...first, ...[...second].map(([at, score]) => [at, score + (first.get(at) ?? 0)] as const)])

/** Returns the results in both maps, with the sum of their scores. */
const both = (first: Map<number, number>, second: Map<number, number>): Map<number, number> =>
  new Map([...first].flatMap(([at, score]) => (second.has(at) ? [[at, score + (second.get(at) ?? 0)]] : [])))

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Returns the first index in sorted words that is not less than a word. */
function lowerBound(words: string[], word: string): number {
  let low = 0
  let high = words.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((words[middle] as string) < word) low = middle + 1
    else high = middle
  }
  return low
}
