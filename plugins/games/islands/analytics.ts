import type uPlot from 'uplot'

/**
 * Turns the server's drawings into charts that show the exact number under the pointer, all of them at the same day.
 * The library is loaded when the first chart comes into view; without it the drawings and the table below stay.
 */
const figures = [...document.querySelectorAll<HTMLElement>('figure.chart[data-values]')]
const library = document.querySelector<HTMLElement>('[data-chart-library]')?.dataset.chartLibrary

const seen = new IntersectionObserver((entries) => {
  if (!library || !entries.some(({ isIntersecting }) => isIntersecting)) return
  seen.disconnect()
  import(library).then(
    ({ default: Chart }: { default: typeof uPlot }) => {
      for (const figure of figures) draw(Chart, figure)
      document.documentElement.dataset.charts = 'drawn'
    },
    () => {},
  )
})
for (const figure of figures) seen.observe(figure)

function draw(Chart: typeof uPlot, figure: HTMLElement): void {
  const area = figure.querySelector<HTMLElement>('.chart-area')
  const note = figure.querySelector<HTMLElement>('.chart-note')
  if (!area || !note) return
  const values = JSON.parse(figure.dataset.values ?? '[]') as number[]
  const labels = JSON.parse(figure.dataset.labels ?? '[]') as string[]
  const { height } = area.getBoundingClientRect()
  const quiet = note.textContent
  const isLine = figure.dataset.shape === 'line'
  const paths = isLine ? Chart.paths.linear?.() : Chart.paths.bars?.({ size: [0.7, 64] })
  const width = () => Math.max(40, Math.floor(area.clientWidth))
  const resolved = (name: string) => {
    // The tokens are light-dark() values, but a canvas needs the resolved colour.
    const probe = document.createElement('i')
    probe.className = 'chart-probe'
    probe.dataset.colour = name
    area.append(probe)
    const value = getComputedStyle(probe).color
    probe.remove()
    return value
  }
  const plot = () => {
    const paint = resolved(isLine ? 'act' : 'play')
    return new Chart(
      {
        width: width(),
        height: Math.round(height),
        padding: [4, 0, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { show: isLine }, drag: { x: false, y: false }, sync: { key: 'days' } },
        scales: {
          // The range is half a day longer at both ends, because a bar is as wide as its day.
          x: { time: false, ...(isLine ? {} : { range: (_plot, first, last) => [first - 0.5, last + 0.5] }) },
          y: { range: [0, Number(figure.dataset.top) || 1] },
        },
        axes: [{ show: false }, { show: false }],
        series: [
          {},
          {
            stroke: paint,
            ...(isLine ? { width: 2 } : { fill: paint, width: 0 }),
            ...(paths ? { paths } : {}),
            points: { show: false },
          },
        ],
        hooks: {
          setCursor: [
            ({ cursor: { idx } }) => {
              note.textContent = idx == null ? quiet : `${labels[idx]}: ${(values[idx] ?? 0).toLocaleString('en')}`
            },
          ],
        },
      },
      [values.map((_, index) => index), values],
      area,
    )
  }
  area.querySelector('svg')?.remove()
  let chart = plot()
  new ResizeObserver(() => chart.setSize({ width: width(), height: Math.round(height) })).observe(area)
  const redraw = () => {
    chart.destroy()
    chart = plot()
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw)
  document.querySelector('[data-theme-switch]')?.addEventListener('click', () => requestAnimationFrame(redraw))
}
