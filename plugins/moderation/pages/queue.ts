import {
  Card,
  Chip,
  type Content,
  EmptyState,
  Field,
  Form,
  html,
  PageHeader,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import type { Player } from '../../oauth-idp/index.ts'
import type { Case, CaseDetails, PastDecision, ShownReport, Tally } from '../reports/queue.ts'
import type { Target } from '../reports/targets.ts'
import { CATEGORIES, type Decision, MESSAGE_LENGTH } from '../schemas.ts'
import { CATEGORY_WORDS, TEMPLATES } from '../words.ts'

type ShownCase = Case & { target: Target | null }

export interface QueuePageProps {
  /** One page of the queue. */
  cases: ShownCase[]
  /** The number of targets in the whole queue. */
  count: number
  page: number
  perPage: number
  /** The case in sight. */
  current: ShownCase | null
  details: CaseDetails | null
  owner: (Player & { disabled: boolean }) | null
  /** Names of reporters, by id. */
  names: ReadonlyMap<string, string>
  /** Whether the viewer may decide: moderators do not decide about their own things. */
  mayDecide: boolean
  /** Whether the viewer may disable the owner. */
  mayDisable: boolean
  /** Whether a decision was refused. The focus belongs to the reason then, otherwise to the case. */
  isRefused: boolean
}

/** Renders the queue: the thing in sight with its reports and actions, and the list of the others. */
export function QueuePage(props: QueuePageProps): View {
  const { cases, count, page, perPage, current } = props
  if (!current)
    return html`
      <${PageHeader} title="Reports" lede=${LEDE} />
      <${Card}><${EmptyState} title="Nothing is waiting">A report about a game, an asset or a player appears here.<//><//>`
  const first = (page - 1) * perPage
  const at = cases.findIndex(({ id }) => id === current.id)
  const address = (each: ShownCase | undefined) => each && `/admin/reports?page=${page}&target=${each.id}`
  const previous = address(cases[at - 1]) ?? (page > 1 ? `/admin/reports?page=${page - 1}` : null)
  const next = address(cases[at + 1]) ?? (first + cases.length < count ? `/admin/reports?page=${page + 1}` : null)
  const step = (href: string | null, key: string, label: string): Content =>
    href && html`<a class="button small" href=${href} data-key=${key}>${label} <kbd>${key}</kbd></a>`
  return html`
    <${PageHeader} title="Reports" lede=${LEDE} />
    <div class="queue">
      <article class="card queue-case" id="case" aria-label=${titleOf(current)} aria-describedby="case-keys" tabindex="0" autofocus=${!props.isRefused}>
        <div class="queue-steps">
          <span class="soft"><span id="case-keys" class="visually-hidden">Keys act while the focus is on this case.</span>${at < 0 ? `${count} waiting` : `${first + at + 1} of ${count}`}</span>
          <span class="row">${step(previous, 'k', 'Previous')}${step(next, 'j', 'Next')}</span>
        </div>
        ${head(current, props.owner)}
        <div class="queue-sight">${look(current.target)}${reportList(props)}</div>
        ${ownerFacts(props)}
        ${actions(props, cases[at + 1] ?? cases[at - 1])}
      </article>
      <nav class="queue-list" aria-label="Reported things">
        <ol start=${first + 1}>${cases.map(
          (each) => html`<li><a href=${address(each)} aria-current=${each.id === current.id ? 'true' : undefined}>
            <span class="queue-title"><bdi>${titleOf(each)}</bdi></span>
            <span class="queue-meta">${each.kind} · ${reportsOf(each)} · ${each.categories.map((category) => CATEGORY_WORDS[category]).join(', ')}</span>
            ${each.urgent && html`<${Chip} tone="error">urgent<//>`}
          </a></li>`,
        )}</ol>
        ${(page > 1 || first + cases.length < count) && pageLinks(page, first + cases.length < count)}
      </nav>
    </div>`
}

const LEDE =
  'Urgent ones first, then those with most reports. Owner and reporters are told ten minutes after a decision, so that you can undo it.'

const titleOf = ({ target, kind }: ShownCase): string => target?.title ?? `A ${kind} that was deleted`
const reportsOf = ({ reports }: Case): string => `${reports} ${reports === 1 ? 'report' : 'reports'}`

const pageLinks = (page: number, more: boolean): View => html`<p class="note ends">
  ${page > 1 ? html`<a href=${`/admin/reports?page=${page - 1}`}>Before</a>` : html`<span></span>`}
  ${more && html`<a href=${`/admin/reports?page=${page + 1}`}>After</a>`}</p>`

function head(current: ShownCase, owner: QueuePageProps['owner']): View {
  const { target, kind, urgent } = current
  const by =
    kind !== 'player' && owner && html` by <a href=${`/admin/players/${owner.id}`}><bdi>${owner.name}</bdi></a>`
  return html`<header class="queue-head">
    <h2>${target ? html`<a href=${target.page} data-key="o" target="_blank" rel="noopener"><bdi>${target.title}</bdi></a>` : titleOf(current)}</h2>
    <p class="row">
      ${urgent && html`<${Chip} tone="error">urgent<//>`}
      ${target?.suspended && html`<${Chip} tone="warn">suspended<//>`}
      ${owner?.disabled && html`<${Chip} tone="warn">owner disabled<//>`}
      <span class="soft">${kind}${by} · ${reportsOf(current)} since <${Timestamp} at=${current.firstAt} /></span>
    </p>
  </header>`
}

/**
 * The thing itself. A game runs in a frame without the portal's origin: it can open no window, leave no page, and show
 * no dialogs. It keeps its own origin, since its files load from there.
 */
function look(target: Target | null): Content {
  if (!target) return html`<p class="soft">It was deleted. Its reports can be dismissed.</p>`
  if (target.suspended) return html`<p class="soft">Suspended: <bdi>${target.suspended}</bdi></p>`
  if (!target.look) return html`<p class="soft">There is nothing to show: it is private, or has no build.</p>`
  if ('frame' in target.look)
    return html`<iframe class="queue-look" src=${target.look.frame} title=${target.title} loading="lazy"
      sandbox="allow-scripts allow-same-origin" referrerpolicy="no-referrer"></iframe>`
  if ('audio' in target.look)
    return html`<audio class="sound" src=${target.look.audio} controls preload="none" aria-label=${target.title}></audio>`
  return html`<img class=${`queue-look ${target.kind}`} src=${target.look.image} alt=${`Picture of ${target.title}`} loading="lazy" />`
}

function reportList({ details, names, current }: QueuePageProps): View {
  const reports = details?.reports ?? []
  const hidden = (current?.reports ?? 0) - reports.length
  const who = ({ reporterId }: ShownReport): Content =>
    reporterId
      ? html`<a href=${`/admin/players/${reporterId}`}><bdi>${names.get(reporterId) ?? reporterId}</bdi></a>`
      : 'a visitor'
  return html`<ul class="queue-reports">${reports.map(
    (report) => html`<li>
      <p><${Chip}>${CATEGORY_WORDS[report.category]}<//> <bdi>${report.text || 'The reporter deleted their account.'}</bdi></p>
      <p class="soft">${who(report)} · ${historyOf(report.history, 'reports')} · <${Timestamp} at=${report.at} /></p>
    </li>`,
  )}${hidden > 0 && html`<li class="soft">and ${hidden} more</li>`}</ul>`
}

const historyOf = ({ upheld, dismissed }: Tally, what: string): string =>
  upheld + dismissed === 0 ? `no earlier ${what}` : `earlier ${what}: ${upheld} upheld, ${dismissed} dismissed`

function ownerFacts({ owner, details }: QueuePageProps): Content {
  if (!owner) return null
  const decisions = details?.decisions ?? []
  return html`<section class="queue-owner">
    <h3 class="h3"><a href=${`/admin/players/${owner.id}`}><bdi>${owner.name}</bdi></a></h3>
    <p class="soft">${[...(owner.role === 'player' ? [] : [owner.role]), ...(owner.isGuest ? ['guest'] : []), historyOf(details?.owner ?? { upheld: 0, dismissed: 0 }, 'reports about this owner')].join(' · ')} · here since <${Timestamp} at=${owner.createdAt} day /></p>
    ${decisions.length > 0 && html`<ul class="queue-decisions">${decisions.map(pastDecision)}</ul>`}
  </section>`
}

const VERBS: Record<string, string> = {
  dismiss: 'Dismissed',
  suspend: 'Suspended',
  disable: 'Owner disabled',
  write: 'Written',
}

const pastDecision = ({ id, action, message, at, undone }: PastDecision): View => html`<li>
  <span><strong>${VERBS[action] ?? action}</strong>${undone && ' (undone)'} <${Timestamp} at=${at} />${message && html`<br /><bdi>${message}</bdi>`}</span>
  ${!undone && undoForm(id)}
</li>`

const undoForm = (decisionId: string, key?: string): View => html`
  <form class="inline-form" action="/admin/reports/undo" method="post"><input type="hidden" name="decisionId" value=${decisionId} />
    <button class="button small" data-key=${key}>Undo${key && html` <kbd>${key}</kbd>`}</button></form>`

function actions({ current, page, mayDecide, mayDisable }: QueuePageProps, next: ShownCase | undefined): Content {
  if (!current) return null
  if (!mayDecide) return html`<p class="soft">This is about you or something of yours. Somebody else decides.</p>`
  const { target, kind, id } = current
  const action = (value: string, key: string, label: string, danger = false): View =>
    html`<button class=${`button${danger ? ' danger' : ''}`} name="action" value=${value} data-key=${key}>${label} <kbd>${key}</kbd></button>`
  const words = CATEGORIES.map((category) => ({ value: category, label: TEMPLATES[category] }))
  return html`<div class="queue-decide"><${Form} action=${`/admin/reports/${id}`}>
    <input type="hidden" name="page" value=${page} />
    ${next && html`<input type="hidden" name="next" value=${next.id} />`}
    ${
      target &&
      html`<${Field} type="select" label="Words for the owner" name="template" value=${current.categories[0]} options=${words} />
        <details class="queue-words"><summary>Other words</summary>
          <${Field} type="textarea" label="In your own words" name="message" rows=${3} maxlength=${MESSAGE_LENGTH} hint="They replace the words above." /></details>`
    }
    <div class="queue-actions">
      ${action('dismiss', 'd', 'Dismiss')}
      ${target && action('write', 'w', 'Write to the owner')}
      ${target && kind !== 'player' && action('suspend', 's', target.suspended ? 'Uphold' : 'Suspend', true)}
      ${target && mayDisable && action('disable', 'b', kind === 'player' ? 'Disable' : 'Disable the owner', true)}
    </div>
  <//></div>`
}

/** The message after a decision, with a button that undoes it. */
export function flashOf(
  decided: (Decision & { title: string | null; undone: boolean }) | null,
  undone: boolean,
): { message: View } | null {
  if (undone) return { message: html`<span>That is undone. Its reports are open again.</span>` }
  if (!decided || decided.undone) return null
  const done = decided.action === 'write' ? 'A message goes out in ten minutes' : VERBS[decided.action]
  return { message: html`<span>${done}: <bdi>${decided.title ?? 'deleted'}</bdi>. ${undoForm(decided.id, 'u')}</span>` }
}
