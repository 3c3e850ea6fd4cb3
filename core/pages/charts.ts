import { type Content, html, type View } from './html.ts'

const number = new Intl.NumberFormat('en')

export interface BarChartProps {
  /** The counted quantity: "Plays". */
  title: string
  /** A number that summarises the points, shown instead of the title. */
  total: number
  /** The meaning of that number: "in 30 days", "on the best day". */
  totalLabel: string
  points: readonly { label: string; value: number }[]
  /** `line` for a value over time, `bars` for counts; default `bars`. */
  shape?: 'bars' | 'line'
}

export interface NumberTableProps {
  caption: string
  /** The column headings: first of the row names, then of the numbers. */
  heads: readonly string[]
  rows: readonly { name: Content; values: readonly number[] }[]
}

/** A table of numbers in narrow columns, also on a phone. It shows the exact values of a chart. */
export const NumberTable = ({ caption, heads, rows }: NumberTableProps): View => html`
  <div class="card flush"><table class="numbers">
    <caption class="visually-hidden">${caption}</caption>
    <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows.map(
      ({ name, values }) =>
        html`<tr><th scope="row">${name}</th>${values.map((value) => html`<td class=${value === 0 ? 'soft' : undefined}>${number.format(value)}</td>`)}</tr>`,
    )}</tbody>
  </table></div>`

const HEIGHT = 100
const STEP = 10
/**
 * A small chart, drawn on the server without a script or inline style. It is an illustration: the same numbers must be
 * in a table beneath, which screen readers use.
 */
export function BarChart({ title, total, totalLabel, points, shape = 'bars' }: BarChartProps): View {
  const highest = ceiling(Math.max(0, ...points.map(({ value }) => value)))
  const width = Math.max(1, points.length) * STEP
  const heightOf = (value: number) => (highest === 0 ? 0 : Math.round((value / highest) * HEIGHT * 100) / 100)
  return html`
    <figure class="chart" data-shape=${shape} data-top=${highest} data-values=${JSON.stringify(points.map(({ value }) => value))}
      data-labels=${JSON.stringify(points.map(({ label }) => label))}>
      <figcaption><span class="chart-title">${title}</span><strong>${number.format(total)}</strong><span class="chart-note">${totalLabel}</span></figcaption>
      <div class="chart-area">
        <span class="chart-top" aria-hidden="true">${highest > 0 && number.format(highest)}</span>
        <svg viewBox=${`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
          <path class="chart-grid" d=${`M0 0H${width}M0 ${HEIGHT / 2}H${width}`} vector-effect="non-scaling-stroke" />
          ${shape === 'line' ? line(points, heightOf) : bars(points, heightOf)}
        </svg>
      </div>
      <div class="chart-axis" aria-hidden="true"><span>${points[0]?.label}</span><span>${points.at(-1)?.label}</span></div>
    </figure>`
}

type Points = BarChartProps['points']
type HeightOf = (value: number) => number

const bars = (points: Points, heightOf: HeightOf): Content =>
  points.map(({ label, value }, index) => {
    // A value above zero must be visible.
    const height = value > 0 ? Math.max(1.5, heightOf(value)) : 0
    return html`<g class="chart-point"><rect class="chart-hit" x=${index * STEP} y="0" width=${STEP} height=${HEIGHT} /><rect class="chart-bar" x=${index * STEP + 1.5} y=${HEIGHT - height} width=${STEP - 3} height=${height} /><title>${label}: ${number.format(value)}</title></g>`
  })

function line(points: Points, heightOf: HeightOf): Content {
  const middle = (index: number) => index * STEP + STEP / 2
  const path = points.map(({ value }, index) => `${middle(index)} ${HEIGHT - heightOf(value)}`).join('L')
  const closed = `M${middle(0)} ${HEIGHT}L${path}L${middle(points.length - 1)} ${HEIGHT}Z`
  return html`
    <path class="chart-under" d=${closed} /><path class="chart-line" d=${`M${path}`} vector-effect="non-scaling-stroke" />
    ${points.map(({ label, value }, index) => html`<g class="chart-point"><rect class="chart-hit" x=${index * STEP} y="0" width=${STEP} height=${HEIGHT} /><title>${label}: ${number.format(value)}</title></g>`)}`
}

/** Rounds up to the next round number: 1, 2, 5, 10, 20, 50 … */
function ceiling(value: number): number {
  if (value <= 0) return 0
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((step) => value <= step * power) ?? 10) * power
}
