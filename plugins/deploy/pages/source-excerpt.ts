import { html, type View } from '../../../core/pages/index.ts'
import type { SourcePlace } from '../source-maps/places.ts'

/** Renders a place in a source with the lines around it, as far as they are known. */
export const sourceExcerpt = ({ path, line, column, excerpt }: SourcePlace): View => html`
  <figure class="code titled">
    <figcaption>${path}:${line}:${column}</figcaption>
    ${
      excerpt &&
      html`<pre tabindex="0"><code>${excerpt.lines.map((text, index) => {
        const number = excerpt.from + index
        const content = `${String(number).padStart(5)}  ${text}\n`
        return number === line ? html`<mark>${content}</mark>` : content
      })}</code></pre>`
    }
  </figure>`
