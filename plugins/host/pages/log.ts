import Type from 'typebox'
import { adminPage } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import type { LogLine } from '../../../core/observe/log-tail.ts'
import { Chip, type Content, EmptyState, html, PageHeader, type Tone, type View } from '../../../core/pages/index.ts'
import { page } from '../page.ts'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']
const SHOWN = 100

/** /admin/log: the last lines of the log. */
export const logPages: Routes = async (app) => {
  app.get(
    '/admin/log',
    { ...adminPage, schema: { querystring: Type.Object({ level: Type.Optional(Type.String({ maxLength: 10 })) }) } },
    async (request, reply) => {
      const least = Math.max(0, LEVELS.indexOf(request.query.level ?? ''))
      const lines = app.logTail
        .read()
        .filter(({ level }) => LEVELS.indexOf(level) >= least)
        .slice(0, SHOWN)
      return page(request, reply, { title: 'Log', body: log(lines, LEVELS[least] as string, app.config.log.level) })
    },
  )
}

const FILTERS = [
  { level: 'trace', label: 'Everything' },
  { level: 'warn', label: 'Warnings' },
  { level: 'error', label: 'Errors' },
]

const log = (lines: LogLine[], least: string, configured: string): View => html`
  <${PageHeader} title="Log" lede="The last lines of this node, the newest first. Secrets are masked before a line is written." />
  <div class="browse"><nav aria-label="Level"><ul class="tags">${FILTERS.map(
    ({ level, label }) =>
      html`<li><a href=${level === 'trace' ? '/admin/log' : `/admin/log?level=${level}`} aria-current=${level === least ? 'true' : undefined}>${label}</a></li>`,
  )}</ul></nav></div>
  ${
    lines.length > 0
      ? html`<ol class="log" tabindex="0" aria-label="Lines">${lines.map(line)}</ol>`
      : html`<div class="card"><${EmptyState} title="No such lines"><p><code>log.level</code> sets the level of the log, now <code>${configured}</code>.</p><//></div>`
  }`

const TONES: Record<string, Tone> = { warn: 'warn', error: 'error', fatal: 'error' }

const line = ({ level, time, msg, ...fields }: LogLine): Content => html`
  <li>
    <span class="log-when">${time && html`<time datetime=${time}>${time.slice(11, 19)}</time>`}</span>
    <${Chip} tone=${TONES[level] ?? 'info'}>${level}<//>
    <span class="log-text">${msg}${details(fields)}</span>
  </li>`

function details(fields: Record<string, unknown>): Content {
  const { err, ...rest } = fields as { err?: { message?: string; stack?: string } }
  const plain = Object.entries(rest)
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' ')
  return html`${plain && html` <code>${plain}</code>`}${
    err &&
    html`<details><summary>${err.message ?? 'error'}</summary><pre>${err.stack ?? JSON.stringify(err)}</pre></details>`
  }`
}
