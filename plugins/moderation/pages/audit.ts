import { Readable } from 'node:stream'
import Type from 'typebox'
import { type AuditEntry, type AuditState, exportAudit, readAudit } from '../../../core/data/audit.ts'
import { adminPage, callerOf } from '../../../core/http/auth.ts'
import { mustBeCursor } from '../../../core/http/pagination.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Button,
  EmptyState,
  html,
  PageHeader,
  Pagination,
  renderPage,
  Search,
  Stack,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'

const PER_PAGE = 50
const Asked = Type.Optional(Type.String({ maxLength: 200 }))

/** /admin/audit: every action of the staff, also as JSON lines. */
export const auditPages: Routes = async (app) => {
  const Query = Type.Object({ q: Asked, cursor: Type.Optional(Type.String({ maxLength: 40 })) })

  app.get('/admin/audit', { ...adminPage, schema: { querystring: Query } }, async (request, reply) => {
    const { q = '', cursor } = request.query
    const found = await readAudit(app.db, { q, limit: PER_PAGE + 1, before: mustBeCursor('aud', cursor) })
    const entries = found.slice(0, PER_PAGE)
    const nextCursor = found.length > PER_PAGE ? (entries.at(-1)?.id ?? null) : null
    const people = entries.flatMap(({ by, target }) => (target.kind === 'player' ? [by.id, target.id] : [by.id]))
    const names = await app.identity.players.namesOf([...new Set(people)])
    const gameIds = entries.flatMap(({ target }) => (target.kind === 'game' ? [target.id] : []))
    const games = new Map((await app.games.byIds([...new Set(gameIds)])).map((game) => [game.id, game.title]))
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: 'Audit',
      current: '/admin/audit',
      user: callerOf(request).viewer,
      body: AuditPage({ entries, names, games, nextCursor, q, paged: cursor !== undefined }),
    })
  })

  app.get(
    '/admin/audit.jsonl',
    { ...adminPage, schema: { querystring: Type.Object({ q: Asked }) } },
    async (request, reply) =>
      reply
        .header('cache-control', 'no-store')
        .header('content-disposition', 'attachment; filename="audit.jsonl"')
        .type('application/jsonl')
        .send(Readable.from(exportAudit(app.db, request.query.q))),
  )
}

interface AuditPageProps {
  entries: AuditEntry[]
  /** Names of players, by id. */
  names: ReadonlyMap<string, string>
  /** Titles of games that are not deleted, by id. */
  games: ReadonlyMap<string, string>
  nextCursor: string | null
  q: string
  paged: boolean
}

function AuditPage({ entries, names, games, nextCursor, q, paged }: AuditPageProps): View {
  const search = q ? `q=${encodeURIComponent(q)}&` : ''
  const person = (id: string): View =>
    names.has(id) ? html`<a href=${`/admin/players/${id}`}><bdi>${names.get(id)}</bdi></a>` : html`<code>${id}</code>`
  const game = (id: string): View =>
    games.has(id) ? html`<a href=${`/admin/games?q=${id}`}><bdi>${games.get(id)}</bdi></a>` : html`<code>${id}</code>`
  const columns = [
    { label: 'When', cell: ({ at }: AuditEntry) => html`<${Timestamp} at=${at} />` },
    {
      label: 'Who',
      cell: ({ by }: AuditEntry) => html`<span>${person(by.id)}<br /><span class="soft">${by.role}</span></span>`,
    },
    { label: 'What', cell: ({ action }: AuditEntry) => html`<code>${action}</code>` },
    {
      label: 'Target',
      cell: ({ target: { kind, id } }: AuditEntry) =>
        kind === 'server' ? 'this server' : html`<span>${kind} ${kind === 'player' ? person(id) : game(id)}</span>`,
    },
    { label: 'Reason and change', cell: (entry: AuditEntry) => changeOf(entry) },
  ]
  const empty = q
    ? html`<${EmptyState} title="Nothing found">Search for an id, an action such as <code>game.suspend</code>, or a word of a reason.<//>`
    : html`<${EmptyState} title="Nothing yet">Every action of administrators, moderators and of <code>gameyard admin</code> appears here.<//>`
  const all = q ? `/admin/audit.jsonl?q=${encodeURIComponent(q)}` : '/admin/audit.jsonl'
  return html`
    <${PageHeader} title="Audit" lede="Every action of administrators, moderators and of the command line, newest first. Nothing here changes or goes away."
      actions=${html`<${Button} href=${all}>JSON lines<//>`} />
    <${Stack}>
      <${Search} action="/admin/audit" label="Search by id, action or reason" value=${q} />
      <${Table} caption="Actions" columns=${columns} rows=${entries} empty=${empty} />
      <${Pagination} label="Actions" next=${nextCursor && `/admin/audit?${search}cursor=${nextCursor}`}
        first=${paged ? `/admin/audit${q ? `?q=${encodeURIComponent(q)}` : ''}` : null} />
    <//>`
}

function changeOf({ reason, before, after }: AuditEntry): View {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const changes = names
    .filter((name) => shown(before, name) !== shown(after, name))
    .map((name) => `${name}: ${shown(before, name)} → ${shown(after, name)}`)
  return html`<span>${reason && html`<bdi>${reason}</bdi>`}${reason && changes.length > 0 && html`<br />`}
    ${changes.length > 0 && html`<span class="soft">${changes.join(', ')}</span>`}</span>`
}

/** A dash stands for what the action says nothing about. */
function shown(state: AuditState | null, name: string): string {
  const value = state?.[name]
  return value === undefined ? '–' : value === null ? 'none' : String(value)
}
