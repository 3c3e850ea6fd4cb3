import { EmptyState, html, PageHeader, Section, Table, Timestamp, type View } from '../../core/pages/index.ts'
import { podium } from './results-page.ts'
import type { CategoryResult, FormerJam, Results } from './schemas.ts'

const JAM = { label: 'Jam', href: '/jam' }

/** Lists the jams before the current one. */
export const FormerJamsPage = ({ jams }: { jams: FormerJam[] }): View => html`
  <${PageHeader} title="Former jams" crumbs=${[JAM]} lede="The results that were revealed stay here." />
  <${Table} caption="Former jams" rows=${jams} empty=${html`<${EmptyState} title="No former jams"><p>A jam is listed here after the next one has begun.</p><//>`} columns=${[
    { label: 'Jam', cell: ({ id, title }: FormerJam) => html`<a href=${`/jam/past/${id}`}>${title}</a>` },
    { label: 'Theme', cell: ({ theme }: FormerJam) => theme || html`<span class="soft">none</span>` },
    { label: 'Begun', cell: ({ createdAt }: FormerJam) => html`<${Timestamp} at=${createdAt} day />` },
    { label: 'Games', align: 'end', cell: ({ games }: FormerJam) => games },
  ]} />`

/** The revealed results of one jam. */
export const FormerJamPage = ({ results }: { results: Results }): View => {
  const shown = results.categories.filter(({ places, complete }) => places.length > 0 || complete)
  return html`
    <${PageHeader} title=${results.title} crumbs=${[JAM, { label: 'Former jams', href: '/jam/past' }]} lede=${`${results.voters === 1 ? 'One player' : `${results.voters} players`} voted.`} />
    ${shown.length === 0 && html`<p>No results were revealed.</p>`}
    ${shown.map((category: CategoryResult) => html`<${Section} title=${category.name}>${podium(category)}<//>`)}`
}
