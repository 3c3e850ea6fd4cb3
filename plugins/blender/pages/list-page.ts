import {
  Button,
  Card,
  Chip,
  EmptyState,
  Grid,
  html,
  inlineCode,
  Notice,
  PageHeader,
  Pagination,
  Section,
  Table,
  Timestamp,
  type Tone,
  type View,
} from '../../../core/pages/index.ts'
import type { Health, Job, JobStatus, Template } from '../schemas.ts'

interface Shown {
  jobs: Job[]
  nextCursor: string | null
  cursor: string | undefined
  health: Health
  templates: Template[]
}

export const listPage = ({ jobs, nextCursor, cursor, health, templates }: Shown): View => html`
  <${PageHeader} title="Blender jobs" lede="A real Blender makes models, from a template or from a script of yours."
    actions=${(jobs.length > 0 || cursor) && html`<${Button} kind="act" href="/blender/new">New job<//>`} />
  ${
    health.status !== 'ok' &&
    html`<${Notice} tone="warn" title=${health.status === 'incomplete' ? 'Blender can’t write models here now' : 'No Blender runs here now'}>${inlineCode(sentence(health.reason ?? 'jobs cannot be taken.'))}<//>`
  }
  ${
    jobs.length === 0 && !cursor
      ? html`<${EmptyState} title="No jobs yet" action=${{ href: '/blender/new', label: 'Create a model' }}>Choose a template below, or write a script of your own.<//>`
      : html`<${Section} title="Your jobs">
          <${Table} caption="Your Blender jobs" columns=${columns} rows=${jobs} />
          <${Pagination} label="Jobs" next=${nextCursor && `/blender?cursor=${nextCursor}`} first=${cursor && '/blender'} />
        <//>`
  }
  ${templatesToUse(templates)}`

/** Renders the templates. @param game the slug of the game for which one is used */
export const templatesToUse = (templates: readonly Template[], game?: string): View => html`
  <${Section} title="Templates" description="Scenes to begin with; each has its own settings.">
    <${Grid}>${templates.map(
      (template) => html`<${Card} title=${template.title} description=${template.description}
        footer=${html`<${Button} small href=${newJob({ template: template.id, game })} label=${`Use it: ${template.title}`}>Use it<//>`} />`,
    )}<//>
  <//>`

/** Returns the address of the form for a job. */
export function newJob(query: { template?: string; game?: string | undefined }): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return `/blender/new?${new URLSearchParams(entries)}`
}

/** Reasons start with a lower-case letter, because other texts show them after a colon. */
const sentence = (reason: string) => reason.charAt(0).toUpperCase() + reason.slice(1)

const columns = [
  { label: 'Job', cell: (job: Job) => html`<a href=${`/blender/jobs/${job.id}`}>${job.name}</a>` },
  { label: 'What', cell: (job: Job) => (job.template ? `${job.action}, ${job.template}` : job.action) },
  { label: 'Status', cell: (job: Job) => statusChip(job) },
  { label: 'Queued', cell: (job: Job) => html`<${Timestamp} at=${job.timing.queuedAt} />` },
]

const TONES: Record<JobStatus, Tone> = {
  queued: 'info',
  running: 'info',
  completed: 'success',
  failed: 'error',
  cancelled: 'warn',
}

/** Shown for a player without a name that others may read. */
export const UNKNOWN = 'A player'

/** The columns of a list with jobs of several players. @param names of the players by their ids */
export const columnsOf = (names: ReadonlyMap<string, string>) => [
  ...columns.slice(0, 2),
  { label: 'By', cell: (job: Job) => names.get(job.ownerId) ?? UNKNOWN },
  ...columns.slice(2),
]

export const statusChip = ({ status, queuePosition }: Pick<Job, 'status' | 'queuePosition'>): View =>
  status === 'running'
    ? html`<${Chip} live>running<//>`
    : html`<${Chip} tone=${TONES[status]}>${queuePosition ? `queued, number ${queuePosition}` : status}<//>`
