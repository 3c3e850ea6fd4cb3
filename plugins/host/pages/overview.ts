import { hostname, loadavg } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { adminPage } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { countJobs, type Retries, readRetries } from '../../../core/jobs/job-queries.ts'
import type { HealthDetail } from '../../../core/observe/health.ts'
import type { HostProblem, SetupStep } from '../../../core/observe/host-dashboard.ts'
import { residentBytes } from '../../../core/observe/resident-memory.ts'
import {
  Button,
  Chip,
  DescriptionList,
  formatBytes,
  html,
  Notice,
  PageHeader,
  Section,
  Split,
  type Stat,
  Stats,
  Steps,
  Table,
  type View,
} from '../../../core/pages/index.ts'
import { page } from '../page.ts'

/** /admin: the state of the server, and the necessary actions. */
export const overviewPages: Routes = async (app) => {
  const order = (a: { order: number }, b: { order: number }) => a.order - b.order

  app.get('/admin', adminPage, async (request, reply) => {
    const [health, jobs, retries, disk, stats, steps, contributed] = await Promise.all([
      app.health.details(),
      countJobs(app.db),
      readRetries(app.db),
      app.storageUse.disk(),
      Promise.all(
        app.hostDashboard.stats.toSorted(order).map(async ({ label, live, value }): Promise<Stat> => {
          return { label, value: await value(), live: live ?? false }
        }),
      ),
      Promise.all(
        app.hostDashboard.setupSteps.toSorted(order).map(async (step) => ({ ...step, isDone: await step.done() })),
      ),
      Promise.all(app.hostDashboard.problems.map((problem) => problem())),
    ])
    const problems = [
      ...health
        .filter(({ ok, vital, took }) => !ok && (vital || took === null))
        .map(({ name, reason }) => ({ title: `${name} is not well`, text: reason, href: '/admin/log', label: 'Log' })),
      ...(jobs.failed > 0
        ? [{ title: failed(jobs.failed), text: null, href: '/admin/jobs', label: 'Look at them' }]
        : []),
      ...retries.map((retry) => ({
        title: failing(retry),
        text: retry.error.split('\n', 1)[0] ?? null,
        href: '/admin/jobs',
        label: 'Look at them',
      })),
      ...(disk && disk.free / disk.size < LITTLE
        ? [
            {
              title: `The disk has ${formatBytes(disk.free)} left`,
              text: null,
              href: '/admin/storage',
              label: 'Storage',
            },
          ]
        : []),
      ...contributed.filter((problem) => problem !== null),
    ]
    return page(request, reply, {
      title: 'Server',
      body: overview(app, { health, stats, steps, problems }),
    })
  })

  app.get('/admin/config', adminPage, async (request, reply) =>
    page(request, reply, { title: 'Configuration', body: configuration(app.describeConfig?.() ?? null) }),
  )
}

/** The free part of the disk below which a warning appears. */
const LITTLE = 0.1

const failed = (jobs: number) => (jobs === 1 ? 'A background job has failed' : `${jobs} background jobs have failed`)

const failing = ({ name, jobs }: Retries) =>
  jobs === 1 ? `The job ${name} fails, and is tried again` : `${jobs} jobs ${name} fail, and are tried again`

interface OverviewProps {
  health: HealthDetail[]
  stats: Stat[]
  steps: (SetupStep & { isDone: boolean })[]
  problems: HostProblem[]
}

function overview(app: FastifyInstance, { health, stats, steps, problems }: OverviewProps): View {
  const next = steps.find(({ isDone }) => !isDone)
  return html`
    <${PageHeader} title=${app.site.name} address=${app.origins.portal}
      chips=${problems.length > 0 ? html`<${Chip} tone="warn">needs you<//>` : html`<${Chip} live>all is well<//>`} />
    <div class="stack">
      ${problems.map(
        ({ title, text, href, label }) =>
          html`<${Notice} tone="warn" title=${title}>${text && html`<p>${text}</p>`}<p><a href=${href}>${label}</a></p><//>`,
      )}
      <${Stats} items=${stats} />
    </div>
    ${
      next &&
      html`<${Section} title="First steps" id="first-steps" description="This part disappears when all steps are done.">
        <div class="card"><${Steps} items=${steps.map((step) => ({
          title: step.title,
          done: step.isDone,
          body: step.isDone
            ? ''
            : html`<p>${step.text}</p><div class="row"><${Button} kind=${step === next ? 'act' : 'plain'} href=${step.action.href}>${step.action.label}<//></div>`,
        }))} /></div>
      <//>`
    }
    <${Section} title="Health" id="health" description="Checked just now. The server works without the optional parts.">
      <${Split} aside=${machine(app)}>${drivers(app, health)}<//>
    <//>`
}

interface Part {
  name: string
  driver: string | undefined
  detail: HealthDetail | undefined
}

function drivers({ driverNames }: FastifyInstance, health: HealthDetail[]): View {
  const parts: Part[] = [...new Set([...Object.keys(driverNames), ...health.map(({ name }) => name)])]
    .sort()
    .map((name) => ({ name, driver: driverNames[name], detail: health.find((detail) => detail.name === name) }))
  return html`<${Table} caption="Health of every part" rows=${parts} columns=${[
    { label: 'Part', cell: ({ name }: Part) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`) },
    {
      label: 'Driver',
      cell: ({ driver }: Part) => (driver ? html`<code>${driver}</code>` : html`<span class="soft">built in</span>`),
    },
    { label: 'State', cell: ({ detail, driver }: Part) => stateOf(detail, driver) },
    {
      label: 'Answered in',
      align: 'end',
      cell: ({ detail }: Part) => (detail?.ok && detail.took !== null ? `${detail.took} ms` : ''),
    },
  ]} />`
}

function stateOf(detail: HealthDetail | undefined, driver: string | undefined): View {
  if (!detail) return driver === 'none' ? html`<${Chip}>turned off<//>` : html`<${Chip}>in use<//>`
  if (detail.ok) return html`<${Chip} live>well<//>`
  const word = detail.vital ? 'not well' : detail.took === null ? 'needs a look' : 'optional, not there'
  return html`<${Chip} tone=${detail.vital ? 'error' : 'warn'}>${word}<//><p class="soft">${detail.reason}</p>`
}

function machine({ programVersion, config }: FastifyInstance): View {
  const rss = residentBytes()
  return html`<div class="card"><${DescriptionList} items=${[
    { term: 'Version', detail: programVersion },
    { term: 'Up for', detail: duration(process.uptime()) },
    { term: 'Memory', detail: rss === null ? 'unknown' : formatBytes(rss) },
    { term: 'Load', detail: loadavg()[0]?.toFixed(2) },
    { term: 'Machine', detail: hostname() },
    { term: 'Data', detail: html`<code>${config.dataDir}</code>` },
  ]} /></div>`
}

/** Formats seconds for display: `3 days 4 h`. */
function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  const days = Math.floor(minutes / 1440)
  const hours = Math.floor((minutes % 1440) / 60)
  if (days > 0) return `${days} ${days === 1 ? 'day' : 'days'} ${hours} h`
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`
}

const configuration = (text: string | null): View => html`
  <${PageHeader} title="Configuration" lede="The effective configuration: file, environment, command line and defaults. Secrets are masked. A change needs a restart." />
  ${
    text === null
      ? html`<${Notice}>The program that started this server does not provide its configuration.<//>`
      : html`<pre class="document" tabindex="0" aria-label="The configuration"><code>${text}</code></pre>`
  }`
