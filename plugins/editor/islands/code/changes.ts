import type { Comparison } from '../../schemas.ts'
import { html, type View } from './html.ts'

/** A line of a comparison of two texts. */
interface Line {
  kind: 'same' | 'added' | 'removed'
  text: string
}

/** The number of lines that are compared. Longer texts are shown as replaced. */
const MOST_LINES = 2000
/** The unchanged lines around each change that are shown. */
const AROUND = 3

/** Compares two texts line by line (longest common subsequence), between their common beginning and end. */
export function compareLines(before: string, after: string): Line[] {
  const old = before === '' ? [] : before.split('\n')
  const now = after === '' ? [] : after.split('\n')
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const a = old.slice(start, old.length - end)
  const b = now.slice(start, now.length - end)
  const same = (text: string): Line => ({ kind: 'same', text })
  return [...old.slice(0, start).map(same), ...between(a, b), ...old.slice(old.length - end).map(same)]
}

function between(a: string[], b: string[]): Line[] {
  const replaced: Line[] = [
    ...a.map((text): Line => ({ kind: 'removed', text })),
    ...b.map((text): Line => ({ kind: 'added', text })),
  ]
  if (a.length > MOST_LINES || b.length > MOST_LINES) return replaced
  const width = b.length + 1
  const lengths = new Uint16Array((a.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] as number
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i] as string })
      i++
      j++
    } else if (j < b.length && (i === a.length || at(i, j + 1) > at(i + 1, j))) {
      lines.push({ kind: 'added', text: b[j++] as string })
    } else {
      lines.push({ kind: 'removed', text: a[i++] as string })
    }
  }
  return lines
}

const SIGNS = { same: ' ', added: '+', removed: '−' }
const WORDS = { added: 'new', changed: 'changed', removed: 'removed' }

/** Shows what differs between two builds, file by file. */
export const Changes = ({ files }: { files: Comparison['files'] }): View => html`
  <div class="code-changes">
    ${files.length === 0 && html`<p>Nothing differs.</p>`}
    ${files.map(
      ({ path, change, before, after }) => html`
        <details key=${path} open=${files.length < 4}>
          <summary><code>${path}</code> ${WORDS[change]}</summary>
          ${
            (before?.text ?? '') === (after?.text ?? '')
              ? html`<p class="hint">No text to compare: ${before?.size ?? 0} bytes before, ${after?.size ?? 0} after.</p>`
              : html`<pre tabindex="0" aria-label=${`What changed in ${path}`}>${hunksOf(
                  compareLines(before?.text ?? '', after?.text ?? ''),
                ).map(
                  ({ kind, text }) => html`<span class=${`code-line ${kind}`}>${SIGNS[kind]} ${text}${'\n'}</span>`,
                )}</pre>`
          }
        </details>`,
    )}
  </div>`

/** Keeps changed lines and a few around each. */
function hunksOf(lines: Line[]): Line[] {
  const near = (index: number) =>
    lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ kind }) => kind !== 'same')
  return lines.filter((line, index) => line.kind !== 'same' || near(index))
}
