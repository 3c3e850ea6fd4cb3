import { useState } from 'preact/hooks'
import { html, type View } from './html.ts'
import { kindOf } from './open-file.ts'
import type { Workspace } from './workspace.ts'

interface Hit {
  path: string
  line: number
  column: number
  text: string
}

const MOST_HITS = 100
/** The number of files that are read at once. */
const AT_ONCE = 6

/** Searches the texts of all files. */
export function SearchPane({ workspace, onShow }: { workspace: Workspace; onShow: () => void }): View {
  const [hits, setHits] = useState<Hit[] | null>(null)
  const search = async (event: SubmitEvent) => {
    event.preventDefault()
    const words = String(new FormData(event.target as HTMLFormElement).get('words') ?? '')
    setHits(words === '' ? null : await find(workspace, words))
  }
  const show = async ({ path, line, column }: Hit) => {
    // The editor must be in sight to take the focus and to scroll.
    onShow()
    await workspace.show(path, { line, column })
  }
  return html`
    <form class="code-search" role="search" aria-label="Search in all files" onSubmit=${search}>
      <input class="control" type="search" name="words" aria-label="Search in all files" placeholder="Search in all files" autocomplete="off" />
      <div role="status">${
        hits &&
        html`<p class="hint">${hits.length === 0 ? 'Not found.' : hits.length === 1 ? 'One place.' : `${hits.length} places.`}</p>
        <ul class="code-hits">${hits.map(
          (hit) =>
            html`<li key=${`${hit.path}:${hit.line}:${hit.column}`}><button type="button" onClick=${() => show(hit)}><code>${hit.path}:${hit.line}</code> ${hit.text}</button></li>`,
        )}</ul>`
      }</div>
    </form>`
}

async function find({ draft, open, api }: Workspace, words: string): Promise<Hit[]> {
  const wanted = words.toLowerCase()
  const texts = new Map(open.filter(({ kind }) => kind === 'text').map(({ path, text }) => [path, text]))
  const rest = draft.files.filter((file) => kindOf(file) === 'text' && !texts.has(file.path))
  for (let start = 0; start < rest.length; start += AT_ONCE) {
    const some = rest.slice(start, start + AT_ONCE)
    const read = await Promise.all(some.map(({ path }) => api.readText(path).catch(() => ({ text: '' }))))
    for (const [index, { path }] of some.entries()) texts.set(path, read[index]?.text ?? '')
  }
  const hits: Hit[] = []
  for (const [path, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const [index, line] of text.split('\n').entries()) {
      const at = line.toLowerCase().indexOf(wanted)
      if (at === -1) continue
      hits.push({ path, line: index + 1, column: at + 1, text: line.trim().slice(0, 120) })
      if (hits.length === MOST_HITS) return hits
    }
  }
  return hits
}
