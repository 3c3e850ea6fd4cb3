/** The tags in which models put what they think before they answer. */
const OPENING = /^\s*<(think|thinking|thought|reasoning)>/i
/** The longest opening, after white space. */
const LONGEST_OPENING = '<reasoning>'.length
const OPENINGS = ['<think>', '<thinking>', '<thought>', '<reasoning>']
const LONGEST_CLOSING = '</reasoning>'.length
/**
 * The end of a thought whose opening the prompt's template contains, as with DeepSeek R1 and Qwen 3. It ends its line, so
 * that an answer about such tags is not taken for a thought.
 */
const CLOSING_ALONE = /<\/think(?:ing)?>[ \t]*(?:\r?\n|$)/i

/** Whether a text begins with a thought that has an end and no beginning. */
export const endsUnopenedThought = (text: string): boolean => !OPENING.test(text) && CLOSING_ALONE.test(text)

/** Returns a text without the thoughts before its answer. */
export function withoutThoughts(text: string): string {
  const thoughts = new LeadingThoughts(endsUnopenedThought(text))
  return thoughts.add(text) + thoughts.end()
}

/**
 * Removes the thoughts before the answer from a text that arrives in pieces. White space before an answer is kept unless
 * it followed a thought.
 */
export class LeadingThoughts {
  /** `start`: it is open whether a thought begins. `thought`: within one. `answer`: nothing more is removed. */
  #state: 'start' | 'thought' | 'answer'
  #closing = /<\/think(?:ing)?>/i
  /** What has arrived and is neither passed on nor removed. */
  #rest = ''
  /** Everything of an unopened thought, which is the answer if no closing follows. */
  #unopened: string[] | null
  #afterThought = false
  readonly #within: boolean

  /** @param unopened whether the text begins within a thought */
  constructor(unopened = false) {
    this.#state = unopened ? 'thought' : 'start'
    this.#unopened = unopened ? [] : null
    this.#within = unopened
  }

  /** Takes the next piece. @returns what belongs to the answer */
  add(piece: string): string {
    if (this.#state === 'answer') return piece
    this.#rest += piece
    this.#unopened?.push(piece)
    for (;;) {
      if (this.#state === 'thought') {
        const closing = this.#closing.exec(this.#rest)
        if (!closing) {
          this.#rest = this.#rest.slice(-LONGEST_CLOSING)
          return ''
        }
        this.#rest = this.#rest.slice(closing.index + closing[0].length)
        this.#state = 'start'
        this.#afterThought = true
        this.#unopened = null
      }
      const opening = OPENING.exec(this.#rest)
      if (!opening) return mayOpen(this.#rest) ? '' : this.#answer()
      this.#rest = this.#rest.slice(opening[0].length)
      this.#closing = new RegExp(`</${opening[1]}>`, 'i')
      this.#state = 'thought'
    }
  }

  /** Whether the text began within a thought, and that has ended. */
  get endedUnopened(): boolean {
    return this.#within && this.#unopened === null
  }

  /**
   * Ends the text.
   *
   * @param cut whether it is incomplete, so that an unopened thought may still have had its end
   * @returns what was held back and belongs to the answer
   */
  end(cut = false): string {
    if (this.#state === 'thought') return cut ? '' : (this.#unopened?.join('') ?? '')
    return this.#state === 'start' ? this.#answer() : ''
  }

  #answer(): string {
    const answer = this.#afterThought ? this.#rest.trimStart() : this.#rest
    this.#rest = ''
    this.#state = 'answer'
    return answer
  }
}

/** Whether more text could make this the opening of a thought. */
function mayOpen(text: string): boolean {
  const begun = text.trimStart().slice(0, LONGEST_OPENING).toLowerCase()
  return OPENINGS.some((opening) => opening.startsWith(begun))
}
