import { adoptStyle } from '../player/chip.ts'
import { builtInTexts, languageOf, onLanguageChange } from '../player/language.ts'
import { CHANGED, type ListQuery } from './client.ts'
import { formatScore } from './format-score.ts'
import type { Entry, Period, ScoreList } from './types.ts'

const STYLE = `
:host { display: block; color-scheme: inherit; font: inherit; color: inherit; max-width: 32rem }
:host([hidden]) { display: none }
[part~=title] { margin: 0 0 .5em; font-size: 1.1em; font-weight: 600 }
[part~=list] { list-style: none; margin: 0; padding: 0; display: grid; gap: 2px }
[part~=entry] { display: grid; grid-template-columns: minmax(2.5ch, auto) 1fr auto; gap: .75em; align-items: baseline;
  padding: .4em .75em; border-radius: .5em; background: color-mix(in srgb, currentcolor 6%, transparent) }
[part~=me] { background: color-mix(in srgb, currentcolor 18%, transparent); font-weight: 600 }
[part~=rank] { text-align: end; font-variant-numeric: tabular-nums; opacity: .75 }
[part~=name] { overflow-wrap: anywhere; min-width: 0 }
@media (max-width: 560px) { [part~=name] { overflow: hidden; text-overflow: ellipsis; white-space: nowrap } }
[part~=score] { font-variant-numeric: tabular-nums; text-align: end; white-space: nowrap }
[part~=gap] { text-align: center; opacity: .6 }
[part~=note] { margin: 0; opacity: .75 }`

/** What a board without scores says. */
const EMPTY = {
  en: 'Nobody is on this board yet.',
  de: 'Noch niemand ist auf dieser Bestenliste.',
  es: 'Aún no hay nadie en esta clasificación.',
  fr: 'Ce classement est encore vide.',
  it: 'Questa classifica è ancora vuota.',
  ja: 'まだ記録がありません。',
  ko: '아직 기록이 없습니다.',
  nl: 'Er staat nog niemand op deze ranglijst.',
  pl: 'Ten ranking jest jeszcze pusty.',
  pt: 'Esta classificação ainda está vazia.',
  ru: 'В этой таблице пока никого нет.',
  zh: '排行榜上还没有人。',
}

/**
 * `<gameyard-board name="fastest" limit="10" period="current">`: the first entries of a board, and the player's own when
 * it is further down. It reads the board when it appears, when the page becomes visible again, and after each score of
 * this page; `refresh()` reads it at once.
 *
 * Numbers and texts are in the language of the element (`lang`); the attributes `empty` and `failed` are texts of the game
 * for a board without scores and for one that can't be read.
 *
 * Parts for `::part()`: `board`, `title`, `list`, `entry`, `me`, `rank`, `name`, `score`, `gap`, `note`. Colours follow
 * the text colour of the page, light or dark.
 */
export class BoardElement extends HTMLElement {
  static readonly observedAttributes = ['name', 'limit', 'period', 'lang', 'empty', 'failed']
  /** Reads a board. The script that defines the element sets it. */
  static read: (name: string, query: ListQuery) => Promise<ScoreList>
  readonly #root = this.attachShadow({ mode: 'open' })
  #stop = new AbortController()
  #reading = 0

  connectedCallback(): void {
    adoptStyle(this.#root, STYLE)
    this.#stop = new AbortController()
    const { signal } = this.#stop
    addEventListener(CHANGED, ({ detail }) => detail.name === this.name && void this.refresh(), { signal })
    const refresh = () => document.visibilityState === 'visible' && void this.refresh()
    document.addEventListener('visibilitychange', refresh, { signal })
    onLanguageChange(() => void this.refresh(), signal)
    void this.refresh()
  }

  disconnectedCallback(): void {
    this.#stop.abort()
  }

  attributeChangedCallback(): void {
    if (this.isConnected) void this.refresh()
  }

  get name(): string {
    return this.getAttribute('name') ?? ''
  }

  set name(name: string) {
    this.setAttribute('name', name)
  }

  /** Reads the board and shows it. While it can't be read, the element keeps what it shows. */
  async refresh(): Promise<void> {
    if (this.name === '') return
    const turn = ++this.#reading
    const limit = Math.min(100, Math.max(1, Number.parseInt(this.getAttribute('limit') ?? '', 10) || 10))
    const period = this.getAttribute('period')
    try {
      const list = await BoardElement.read(this.name, { limit, ...(period ? { period: period as Period } : {}) })
      if (turn !== this.#reading) return
      this.#show(list)
      this.dispatchEvent(new CustomEvent('load', { detail: list }))
    } catch (error) {
      if (turn !== this.#reading) return
      if (!this.#root.querySelector('ol')) this.#root.replaceChildren(this.#note('failed', (error as Error).message))
      this.dispatchEvent(new CustomEvent('error', { detail: error }))
    }
  }

  /** Returns a sentence: that of the game, in an attribute, or a built-in one. */
  #note(attribute: string, text: string, language = 'en'): HTMLElement {
    const own = this.getAttribute(attribute)
    const note = element('p', 'note', own ?? text)
    if (own === null) note.lang = language
    return note
  }

  #show({ board, entries, me }: ScoreList): void {
    const language = languageOf(this)
    const section = element('section', 'board')
    section.ariaLabel = board.title
    const list = element('ol', 'list')
    // A style without bullets takes the role away in WebKit.
    list.role = 'list'
    const row = ({ rank, player, score, me }: Entry) => {
      const item = element('li', me ? 'entry me' : 'entry')
      if (me) item.ariaCurrent = 'true'
      item.append(element('span', 'rank', String(rank)), ' ', element('span', 'name', player.name), ' ')
      item.append(element('span', 'score', formatScore(score, board, localeOf(language))))
      return item
    }
    list.append(...entries.map(row))
    if (me && !entries.some((entry) => entry.me)) {
      const gap = element('li', 'gap', '…')
      gap.ariaHidden = 'true'
      list.append(gap, row(me))
    }
    section.append(element('h2', 'title', board.title))
    const empty = builtInTexts(EMPTY, language)
    section.append(entries.length > 0 ? list : this.#note('empty', empty.texts[0] ?? '', empty.language))
    this.#root.replaceChildren(section)
  }
}

/** Returns the locale of a language; undefined for none and for what is no language, which `Intl` would throw at. */
function localeOf(language: string): string | undefined {
  try {
    return Intl.NumberFormat.supportedLocalesOf(language || [])[0]
  } catch {
    return undefined
  }
}

function element(name: string, part: string, text = ''): HTMLElement {
  const made = document.createElement(name)
  made.setAttribute('part', part)
  made.textContent = text
  return made
}
