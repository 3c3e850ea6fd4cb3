import type { FastifyInstance } from 'fastify'
import { BarChart, Card, EmptyState, html, NumberTable, Section, type View } from '../../../core/pages/index.ts'
import { dashboardHeader, type Game } from '../../games/index.ts'
import type { Usage } from '../usage.ts'

const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const labelOf = (date: string) => short.format(new Date(date))

/** /games/:slug/ai: the generations of a game by day. */
export function usagePage(app: Pick<FastifyInstance, 'games' | 'origins'>, game: Game, { days, models }: Usage): View {
  const total = (field: 'generations' | 'credits') => days.reduce((sum, day) => sum + day[field], 0)
  const chart = (title: string, field: 'generations' | 'credits') =>
    html`<${Card}><${BarChart} title=${title} total=${total(field)} totalLabel=${`in ${days.length} days`}
      points=${days.map((day) => ({ label: labelOf(day.date), value: day[field] }))} /><//>`
  const used = days.filter(({ generations }) => generations > 0).reverse()
  return html`
    ${dashboardHeader(app, game, `/games/${game.slug}/ai`)}
    <${Section} title="AI generation" description="Generations for this game: by its players, with their credits, and by you, with its gameId. Days are in UTC.">
      ${
        used.length > 0
          ? html`<div class="charts">${chart('Generations', 'generations')}${chart('Credits', 'credits')}</div>`
          : html`<${Card}><${EmptyState} title="Nothing was generated in these days">
              <p>Send <code>gameId: "${game.id}"</code> along, or let players sign in with the scope <code>ai:generate</code>. The <a href="/playground">playground</a> has the code.</p>
            <//><//>`
      }
    <//>
    ${
      used.length > 0 &&
      html`<${Section} title="In numbers">
        <${NumberTable} caption="By day" heads=${['Day', 'Generations', 'Credits']} rows=${used.map((day) => ({
          name: html`<time datetime=${day.date}>${labelOf(day.date)}</time>`,
          values: [day.generations, day.credits],
        }))} />
        <${NumberTable} caption="By model" heads=${['Model', 'Generations', 'Credits']} rows=${models.map((model) => ({
          name: `${model.model} (${model.type})`,
          values: [model.generations, model.credits],
        }))} />
      <//>`
    }`
}
