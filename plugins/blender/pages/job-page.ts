import type { FastifyInstance } from 'fastify'
import {
  Button,
  CodeBlock,
  DescriptionList,
  Field,
  Form,
  formatBytes,
  html,
  Notice,
  PageHeader,
  Row,
  Section,
  Split,
  Stats,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { modelStage } from '../../assets/index.ts'
import type { Game } from '../../games/index.ts'
import type { Artifact, Job } from '../schemas.ts'
import { jobsOf } from './game-jobs.ts'
import { statusChip } from './list-page.ts'

/** The displayed part of an inspection. A script may have written it, so anything may be missing. */
export interface Inspection {
  totals?: Record<string, unknown>
  warnings?: unknown[]
}

interface Shown {
  job: Job
  script: string | null
  log: string
  inspection: Inspection | null
  keepDays: number
  /** The game of the job, if the viewer makes it. */
  game: Game | null
  /** Who started it, if that is not the viewer. */
  by: string | null
}

/** The page shows no larger models, to avoid large downloads. */
const STAGE_BYTES = 16 * 1024 ** 2

/** Whether the page of a job shows its model. */
export const showsModel = ({ artifacts }: Pick<Job, 'artifacts'>): boolean =>
  artifacts.some(({ name, size }) => name === 'model.glb' && size <= STAGE_BYTES)

export function jobPage(
  app: Pick<FastifyInstance, 'browserFiles'>,
  { job, script, log, inspection, keepDays, game, by }: Shown,
): View {
  const path = `/blender/jobs/${job.id}`
  const active = job.status === 'queued' || job.status === 'running'
  const goesOn = job.status === 'completed' && job.artifacts.some(({ name }) => name === 'scene.blend')
  const retries = job.status === 'failed' && job.action === 'revise' && job.sourceJobId !== null
  const about = html`<${Section} title="About it"><${DescriptionList} items=${[...facts(job, keepDays), ...belongs(game, by)]} /><//>`
  const seen = look(app, job, path)
  return html`
    <${PageHeader} title=${job.name} crumbs=${[by && game ? { label: `Blender jobs of ${game.title}`, href: jobsOf(game) } : { label: 'Blender jobs', href: '/blender' }]} chips=${statusChip(job)}
      actions=${
        active
          ? html`<${Form} action=${`${path}/cancel`}><${Button} kind="danger">Cancel<//><//>`
          : job.action === 'create' &&
            html`<${Button} href=${`/blender/new?from=${job.id}`}>${job.status === 'completed' ? 'Create another like it' : 'Change it and try again'}<//>`
      } />
    ${active && progress(job, path)}
    ${job.error && html`<${Notice} tone="error" title=${sentence(job.error.code)}>${job.error.message}<//>`}
    ${seen ? html`<${Split} aside=${about}>${seen}<//>` : about}
    ${job.artifacts.length > 0 && html`<${Section} title="Files"><${Table} caption="Files of this job" columns=${columnsOf(path)} rows=${job.artifacts} /><//>`}
    ${inspection && inspectionOf(inspection)}
    ${goesOn && revise(app, path, 'Revise', '')}
    ${retries && revise(app, `/blender/jobs/${job.sourceJobId}`, 'Try again', script ?? '')}
    ${script && !retries && html`<${Section} title="Script"><${CodeBlock} code=${script} title="script.py" /><//>`}
    ${log && html`<${Section} title="Log"><${CodeBlock} code=${log} /><//>`}`
}

/** Formats a code such as `script_error` as a title: "Script error". */
const sentence = (code: string): string => code.charAt(0).toUpperCase() + code.slice(1).replaceAll('_', ' ')

/** @param path of the job whose scene the script modifies */
const revise = (app: Pick<FastifyInstance, 'browserFiles'>, path: string, title: string, script: string): View => html`
  <${Section} title=${title} description="Another script on the finished scene; the result is a job of its own.">
    <${Form} action=${`${path}/revise`} submit="Queue the revision">
      <${Field} label="Script" name="script" type="textarea" rows=${8} mono required value=${script} data-editor=${app.browserFiles.url('script-editor.js')} />
    <//>
  <//>`

/** Shows the viewer with the picture as placeholder, or only the picture. */
function look(app: Pick<FastifyInstance, 'browserFiles'>, job: Job, path: string): View | null {
  const picture = job.artifacts.some(({ name }) => name === 'preview.png')
    ? html`<img src=${`${path}/files/preview.png`} width="512" height="512" alt=${`Preview of ${job.name}`} />`
    : null
  if (showsModel(job)) return modelStage(app, { src: `${path}/files/model.glb`, alt: `3D model: ${job.name}`, picture })
  return picture && html`<div class="stage">${picture}</div>`
}

const progress = (job: Job, path: string): View => html`
  <div class="progress" data-job-events=${`${path}/events`}>
    <progress max="1" value=${job.progress} aria-label="Progress"></progress>
    <p role="status">${job.status === 'queued' ? `Waiting, number ${job.queuePosition ?? 1} in the queue` : (job.stage ?? 'running')}</p>
  </div>`

const facts = (job: Job, keepDays: number) => [
  { term: 'Action', detail: job.template ? `${job.action} from ${job.template}` : job.action },
  { term: 'Queued', detail: html`<${Timestamp} at=${job.timing.queuedAt} />` },
  ...(job.timing.runMs === null ? [] : [{ term: 'Ran', detail: `${(job.timing.runMs / 1000).toFixed(1)} s` }]),
  ...(job.sourceJobId
    ? [{ term: 'From', detail: html`<a href=${`/blender/jobs/${job.sourceJobId}`}>an earlier job</a>` }]
    : []),
  ...(job.timing.finishedAt
    ? [{ term: 'Kept until', detail: html`<${Timestamp} at=${keptUntil(job.timing.finishedAt, keepDays)} />` }]
    : []),
  ...(job.starterAssets.length ? [{ term: 'Starters', detail: job.starterAssets.join(', ') }] : []),
]

const belongs = (game: Game | null, by: string | null) => [
  ...(game ? [{ term: 'Game', detail: html`<a href=${jobsOf(game)}>${game.title}</a>` }] : []),
  ...(by ? [{ term: 'By', detail: by }] : []),
]

const keptUntil = (finishedAt: string, days: number): string =>
  new Date(Date.parse(finishedAt) + days * 86_400_000).toISOString()

const columnsOf = (path: string) => [
  { label: 'File', cell: ({ name }: Artifact) => html`<code>${name}</code>` },
  { label: 'Size', align: 'end' as const, cell: ({ size }: Artifact) => formatBytes(size) },
  {
    label: 'Actions',
    action: true,
    cell: ({ name }: Artifact) =>
      html`<${Row}><${Button} small href=${`${path}/files/${name}`} label=${`Download ${name}`}>Download<//><//>`,
  },
]

const inspectionOf = ({ totals = {}, warnings = [] }: Inspection): View => html`
  <${Section} title="Inspection">
    <${Stats} items=${Object.entries(totals)
      .slice(0, 12)
      .map(([label, value]) => ({ label, value: typeof value === 'number' ? value : String(value) }))} />
    ${warnings.slice(0, SHOWN_WARNINGS).map((warning) => html`<${Notice} tone="warn">${messageOf(warning)}<//>`)}
    ${warnings.length > SHOWN_WARNINGS && html`<p>${warnings.length - SHOWN_WARNINGS} more are in <code>inspection.json</code>.</p>`}
  <//>`

const SHOWN_WARNINGS = 20

/** Returns the text of a warning, which was a string in the files of earlier jobs. */
function messageOf(warning: unknown): string {
  const { message } = typeof warning === 'object' && warning !== null ? (warning as { message?: unknown }) : {}
  return String(message ?? warning).slice(0, 500)
}
