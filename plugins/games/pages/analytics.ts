import type { FastifyInstance } from 'fastify'
import { BarChart, Card, EmptyState, html, NumberTable, Section, Stats, type View } from '../../../core/pages/index.ts'
import { pathOf } from '../record.ts'
import type { Analytics, Game } from '../schemas.ts'
import { dashboardHeader } from './dashboard.ts'

export const SPANS = [7, 30, 90, 365] as const

const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const long = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

/** Renders the statistics of a game: four charts, the same numbers as a table, and the numbers of other plugins. */
export function analytics(
  app: Pick<FastifyInstance, 'games' | 'origins' | 'browserFiles'>,
  game: Game,
  { days, totals, span, stats }: Analytics & { span: number; stats: { label: string; value: number }[] },
): View {
  const path = `${pathOf(game)}/analytics`
  const chart = (title: string, field: keyof Analytics['totals'], totalLabel: string, shape?: 'line') =>
    html`<${Card}><${BarChart} title=${title} total=${totals[field]} totalLabel=${totalLabel} shape=${shape}
      points=${days.map((day) => ({ label: short.format(new Date(day.date)), value: day[field] }))} /><//>`
  const happened = days.filter((day) => day.plays + day.signIns + day.peakPlayers > 0).reverse()
  const spans = html`<nav aria-label="Span"><ul class="tags">${SPANS.map(
    (length) =>
      html`<li><a href=${`${path}?days=${length}`} aria-current=${length === span ? 'true' : undefined}>${length === 365 ? 'A year' : `${length} days`}</a></li>`,
  )}</ul></nav>`
  const charts = html`
    <div class="charts" data-chart-library=${app.browserFiles.url('chart.js')}>
      ${chart('Plays', 'plays', `in ${span} days`)}
      ${chart('Players', 'uniquePlayers', 'day by day, summed')}
      ${chart('Sign-ins', 'signIns', `in ${span} days`)}
      ${chart('Players at once', 'peakPlayers', 'the most in rooms', 'line')}
    </div>`
  const nothing = html`
    <${Card}><${EmptyState} title="Nothing happened in these days">
      <p>Share <a href=${game.url}>${game.url.replace(/^https?:\/\//, '')}</a>: everyone who opens it is counted here within seconds.</p>
    <//><//>`
  return html`
    ${dashboardHeader(app, game, path)}
    <${Section} title="Statistics" action=${spans} description="Days are in UTC. The statistics count visitors, and identify nobody.">
      ${happened.length > 0 ? charts : nothing}
      ${stats.length > 0 && html`<${Stats} items=${stats} />`}
    <//>
    ${
      happened.length > 0 &&
      html`<${Section} title="In numbers">
        <${NumberTable} caption=${`Days of ${game.title}`} heads=${HEADS} rows=${happened.map((day) => ({
          name: html`<time datetime=${day.date}>${(span > 90 ? long : short).format(new Date(day.date))}</time>`,
          values: [day.plays, day.uniquePlayers, day.signIns, day.peakPlayers],
        }))} />
      <//>`
    }`
}

const HEADS = ['Day', 'Plays', 'Players', 'Sign-ins', 'At once']
