import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  type Column,
  type Content,
  EmptyState,
  html,
  Pagination,
  renderPage,
  Section,
  Table,
  Timestamp,
} from '../../../core/pages/index.ts'
import { personLabel } from '../members/person-label.ts'
import { dashboardHeader } from '../pages/dashboard.ts'
import { pathOf } from '../record.ts'
import { ACTIONS, type Action } from './record.ts'
import type { ActivityEntry } from './schemas.ts'

const PER_PAGE = 50

/** /games/:slug/activity: who changed a game, and when. */
export const activityPages: Routes = async (app) => {
  app.get(
    '/games/:slug/activity',
    {
      config: { auth: 'session', page: true },
      constraints: { origin: 'portal' },
      schema: {
        params: Type.Object({ slug: Type.String({ maxLength: 63 }) }),
        querystring: Type.Object({ cursor: Type.Optional(Type.String({ maxLength: 200 })) }),
      },
    },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      const game = await app.games.mustMake(playerId, request.params.slug)
      const { cursor } = request.query
      const page = { limit: PER_PAGE, ...(cursor ? { cursor } : {}) }
      const { activity, nextCursor } = await app.games.activity.list(game.id, page)
      const path = `${pathOf(game)}/activity`
      return renderPage(reply, {
        title: `Activity of ${game.title}`,
        user: viewer,
        body: html`
          ${dashboardHeader(app, game, path)}
          <${Section} title="Activity"
            description=${`Who changed the game, and when: people, tokens, coding assistants and this platform. Each entry is kept for ${app.games.activity.days} days.`}>
            <${Table} caption=${`Changes of ${game.title}`} columns=${COLUMNS} rows=${activity} empty=${NOTHING} />
            <${Pagination} label="Activity" next=${nextCursor && `${path}?cursor=${nextCursor}`} first=${cursor ? path : null} />
          <//>`,
      })
    },
  )
}

const NOTHING = html`<${EmptyState} title="Nothing yet">Deploys, settings, leaderboards and domains appear here as they change.<//>`

const COLUMNS: Column<ActivityEntry>[] = [
  { label: 'What', cell: (entry) => whatOf(entry) },
  { label: 'Detail', cell: ({ detail }) => detail && html`<bdi>${detail}</bdi>` },
  { label: 'Who', cell: ({ by }) => authorOf(by) },
  { label: 'When', cell: ({ at }) => html`<${Timestamp} at=${at} />` },
]

function whatOf({ action, target }: ActivityEntry): Content {
  const words = ACTIONS[action as Action] ?? action
  return html`<span>${words}${target && html` <code>${target}</code>`}</span>`
}

function authorOf({ kind, player, name, tool }: ActivityEntry['by']): Content {
  if (kind === 'staff') return 'The staff of this platform'
  if (kind === 'platform') return 'This platform'
  const by = kind !== 'person' && html`<br /><span class="soft">${kind} <bdi>${name}</bdi>${tool && `, ${tool}`}</span>`
  return html`<span>${player ? personLabel(player) : 'A former player'}${by}</span>`
}
