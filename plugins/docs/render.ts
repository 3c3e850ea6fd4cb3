import { Marked, type Renderer, type Token, type Tokens } from 'marked'
import { copyLabel } from '../../core/pages/index.ts'
import { highlight } from './highlight.ts'

export interface Heading {
  id: string
  text: string
  /** 2 or 3. */
  level: number
}

/** A guide as HTML, and the data for search. */
export interface RenderedGuide {
  title: string
  /** The first sentence, as text. */
  summary: string
  /** The introduction below the title as HTML; empty when the guide has none. */
  lede: string
  /** The rest of the guide. Both fields still contain the placeholders of the text (placeholders.ts). */
  html: string
  headings: Heading[]
  /**
   * The sections that search reads: the text and the code blocks under each heading, the first under the title itself.
   */
  sections: {
    id: string
    heading: string
    text: string
    code: string
    /** The section as it is written, without its heading. */
    markdown: string
  }[]
}

/**
 * Renders one guide. The input is the project's own text, so HTML in it is passed on unescaped; never call this with
 * user input.
 *
 * @throws when it does not begin with a title (`# …`)
 */
export const renderGuide = (markdown: string): RenderedGuide => render(markdown, renderer)

/**
 * Renders Markdown of the operator. HTML in it is shown as text, and links lead to web and mail addresses only.
 *
 * @param title for a text that does not begin with one
 */
export function renderUntrusted(markdown: string, title: string): RenderedGuide {
  const text = markdown.replace(/^\uFEFF/, '').trimStart()
  return render(/^# \S/.test(text) ? text : `# ${title}\n\n${text}`, { ...renderer, ...untrusted })
}

function render(markdown: string, renderer: Partial<Renderer>): RenderedGuide {
  const marked = new Marked({ gfm: true, renderer: renderer as never })
  const tokens = marked.lexer(markdown)
  const [first, ...rest] = tokens
  if (first?.type !== 'heading' || first.depth !== 1) throw new Error('A guide begins with its title: `# …`.')
  const title = textOf(first)
  const ids = new Set<string>()
  const headings: Heading[] = []
  const sections: RenderedGuide['sections'] = [{ id: '', heading: title, text: '', code: '', markdown: '' }]
  for (const token of rest) {
    if (token.type === 'heading') {
      const heading = token as Anchored
      heading.id = idFor(textOf(heading), ids)
      headings.push({ id: heading.id, text: textOf(heading), level: heading.depth })
      sections.push({ id: heading.id, heading: textOf(heading), text: '', code: '', markdown: '' })
    } else {
      const section = sections.at(-1)
      if (!section) continue
      section[token.type === 'code' ? 'code' : 'text'] += `${textOf(token)} `
      section.markdown += token.raw
    }
  }
  const begin = rest.findIndex(({ type }) => type !== 'space')
  const body = rest[begin]?.type === 'paragraph' ? begin + 1 : 0
  const paragraph = rest.find((token) => token.type === 'paragraph')
  return {
    title,
    summary: paragraph
      ? (/^.+?\.(?=\s|$)/s.exec(textOf(paragraph))?.[0] ?? textOf(paragraph)).replace(/\s+/g, ' ')
      : '',
    lede: marked.parser(rest.slice(0, body)),
    html: marked.parser(rest.slice(body)),
    headings: headings.filter(({ level }) => level <= 3),
    sections,
  }
}

type Anchored = Tokens.Heading & { id?: string }

const renderer = {
  heading(this: { parser: { parseInline(tokens: Token[]): string } }, token: Tokens.Heading): string {
    const { id = '' } = token as Anchored
    const label = `Link to ${escapeHtml(textOf(token))}`
    return `<h${token.depth} id="${id}"><a class="anchor" href="#${id}" aria-label="${label}">#</a>${this.parser.parseInline(token.tokens)}</h${token.depth}>\n`
  },
  code({ text, lang = '' }: Tokens.Code): string {
    const { language, file } = infoOf(lang)
    const title = file ?? TITLES[language] ?? ''
    const caption = title && `<figcaption>${escapeHtml(title)}</figcaption>`
    return `<figure class="code${title && ' titled'}">${caption}<pre tabindex="0"><code>${highlight(text, language)}</code></pre>${language === 'text' ? '' : copyButton(copyLabel(text, title))}</figure>\n`
  },
  link(this: { parser: { parseInline(tokens: Token[]): string } }, { href, tokens }: Tokens.Link): string {
    return `<a href="${escapeHtml(addressOf(href))}">${this.parser.parseInline(tokens)}</a>`
  },
  image({ href, text }: Tokens.Image): string {
    return `<img src="${escapeHtml(addressOf(href))}" alt="${escapeHtml(text)}" loading="lazy" decoding="async">`
  },
  table(this: { parser: { parseInline(tokens: Token[]): string } }, { header, rows }: Tokens.Table): string {
    const cell = (tag: string) => (part: Tokens.TableCell) => `<${tag}>${this.parser.parseInline(part.tokens)}</${tag}>`
    const head = header.some((part) => part.text) ? `<thead><tr>${header.map(cell('th')).join('')}</tr></thead>` : ''
    const body = rows.map((row) => `<tr>${row.map(cell('td')).join('')}</tr>`).join('')
    return `<div class="guide-table" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>${body}</tbody></table></div>\n`
  },
}

const untrusted = {
  html: ({ text }: Tokens.HTML | Tokens.Tag): string => escapeHtml(text),
  link(this: { parser: { parseInline(tokens: Token[]): string } }, { href, tokens }: Tokens.Link): string {
    const text = this.parser.parseInline(tokens)
    return /^(https?:|mailto:|[/#])/i.test(href) ? `<a href="${escapeHtml(href)}" rel="nofollow">${text}</a>` : text
  },
  // The policy of the pages allows pictures of this site only, so a text says what there is to see.
  image: ({ text }: Tokens.Image): string => escapeHtml(text),
}

/** The caption of a block without a file name. */
const TITLES: Record<string, string> = {
  bash: 'Terminal',
  html: 'HTML',
  js: 'JavaScript',
  json: 'Answer',
  python: 'Python',
  ts: 'TypeScript',
  yaml: 'gameyard.yaml',
}

/**
 * Parses the words after the fence: the language, the parts shown to the reader (`file=main.js`), and the parts that
 * only the tests of the guides read (test/docs/blocks.ts).
 */
function infoOf(info: string): { language: string; file: string | null } {
  const [language = '', ...words] = info.split(/\s+/)
  const file = words.find((word) => word.startsWith('file='))
  return { language, file: file ? file.slice('file='.length) : null }
}

const copyButton = (label: string) =>
  `<button class="copy" type="button" hidden data-copy aria-label="${escapeHtml(label)}"><svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M8 8V5.5A1.5 1.5 0 0 1 9.5 4h9A1.5 1.5 0 0 1 20 5.5v9a1.5 1.5 0 0 1-1.5 1.5H16M5.5 8h9A1.5 1.5 0 0 1 16 9.5v9a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 4 18.5v-9A1.5 1.5 0 0 1 5.5 8Z"/></svg><span>Copy</span></button>`

/** Links to files of this folder become pages: `deploys.md#rollback` → `/docs/deploys#rollback`. */
const addressOf = (href: string) => href.replace(/^(?:\.\/)?([a-z0-9-]+)\.md(?=#|$)/, '/docs/$1')

/** Creates heading ids in the style of code hosting sites, so that links work in both places. */
function idFor(text: string, taken: Set<string>): string {
  const plain = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
  let id = plain
  for (let number = 1; taken.has(id); number++) id = `${plain}-${number}`
  taken.add(id)
  return id
}

/** Returns the text of a token with all nested tokens, for search and titles. */
function textOf(token: Token): string {
  if (token.type === 'list') return (token as Tokens.List).items.map(textOf).join(' ')
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table
    return [...header, ...rows.flat()].map(({ tokens }) => tokens.map(textOf).join('')).join(' ')
  }
  if ('tokens' in token && token.tokens) return token.tokens.map(textOf).join('')
  return 'text' in token && typeof token.text === 'string' ? decode(token.text) : ' '
}

const decode = (text: string) => text.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity)
const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }

const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
