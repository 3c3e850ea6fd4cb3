import Type from 'typebox'
import { actorOf, adminPage, callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { countJobs, isPeriodic, type QueuedJob, readJobs, retryJob } from '../../../core/jobs/job-queries.ts'
import {
  Button,
  Chip,
  EmptyState,
  html,
  PageHeader,
  Stats,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { page } from '../page.ts'

/** /admin/jobs: background work. */
export const jobPages: Routes = async (app) => {
  app.get(
    '/admin/jobs',
    { ...adminPage, schema: { querystring: Type.Object({ retried: Type.Optional(Type.String()) }) } },
    async (request, reply) => {
      const [jobs, counts] = await Promise.all([readJobs(app.db), countJobs(app.db)])
      return page(request, reply, {
        title: 'Jobs',
        flash: 'retried' in request.query ? { message: 'It is tried once more.' } : null,
        body: html`
          <${PageHeader} title="Jobs" lede="Background jobs survive a restart: clean-ups, compression, models. Finished jobs are not listed." />
          <div class="stack">
            <${Stats} items=${[
              { label: 'running', value: counts.running, live: counts.running > 0 },
              { label: 'waiting', value: counts.queued },
              { label: 'failed', value: counts.failed },
            ]} />
            <${Table} caption="Background jobs" columns=${COLUMNS} rows=${jobs} empty=${NONE} />
          </div>`,
      })
    },
  )

  app.post(
    '/admin/jobs/:id/retry',
    { ...adminPage, schema: { params: Type.Object({ id: Type.String({ maxLength: 40 }) }) } },
    async (request, reply) => {
      const { id } = request.params
      const found = await retryJob(app.db, app.clock, id, actorOf(request))
      request.log.info({ job: id, by: callerOf(request).playerId }, 'an administrator retried a job')
      return reply.redirect(found ? '/admin/jobs?retried' : '/admin/jobs', 303)
    },
  )
}

const NONE = html`<${EmptyState} title="Nothing to do">Work appears here when somebody deploys, uploads or generates.<//>`

const COLUMNS = [
  {
    label: 'Job',
    cell: (job: QueuedJob): View =>
      html`<code>${job.name}</code>${!isPeriodic(job) && job.key && html`<br /><span class="soft">${job.key}</span>`}`,
  },
  { label: 'State', cell: (job: QueuedJob) => stateOf(job) },
  { label: 'Attempts', align: 'end' as const, cell: (job: QueuedJob) => job.attempts },
  { label: 'Due', cell: (job: QueuedJob) => html`<${Timestamp} at=${job.dueAt} never="not again" />` },
  {
    label: 'Actions',
    action: true,
    cell: (job: QueuedJob) =>
      job.state === 'failed' &&
      html`<form action=${`/admin/jobs/${job.id}/retry`} method="post"><${Button} small label=${`Try again: ${job.name}`}>Try again<//></form>`,
  },
]

function stateOf(job: QueuedJob): View {
  if (job.state === 'running') return html`<${Chip} live>running<//>`
  const reason = job.error && html`<p class="soft">${job.error.split('\n', 1)[0]}</p>`
  if (job.state === 'failed') return html`<${Chip} tone="error">failed<//>${reason}`
  return html`<${Chip} tone=${job.error ? 'warn' : 'info'}>${isPeriodic(job) ? 'periodic' : 'waiting'}<//>${reason}`
}
