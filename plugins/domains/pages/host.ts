import Type from 'typebox'
import { actorOf, adminPage, callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Chip,
  Confirm,
  EmptyState,
  html,
  PageHeader,
  Pagination,
  renderPage,
  Stack,
  Table,
  Timestamp,
} from '../../../core/pages/index.ts'
import type { HostedDomain } from '../domains.ts'

const PER_PAGE = 50
const Query = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 40 })),
  removed: Type.Optional(Type.String({ maxLength: 253 })),
})

const STATES = { pending: 'waits', verified: 'live', failing: 'proof is gone' }
const TONES = { pending: 'warn', verified: 'success', failing: 'error' } as const

/** Pages for administrators: all custom domains, and their removal. */
export const hostPages: Routes = async (app) => {
  app.get('/admin/domains', { ...adminPage, schema: { querystring: Query } }, async (request, reply) => {
    const { cursor, removed } = request.query
    const { domains, nextCursor } = await app.domains.all({ limit: PER_PAGE, ...(cursor ? { cursor } : {}) })
    const owners = await app.identity.players.namesOf([
      ...new Set(domains.flatMap(({ game }) => (game ? [game.ownerId] : []))),
    ])
    const columns = [
      { label: 'Domain', cell: ({ name, url }: HostedDomain) => html`<a href=${url}><code>${name}</code></a>` },
      {
        label: 'State',
        cell: ({ state, primary }: HostedDomain) =>
          html`<span class="row"><${Chip} tone=${TONES[state]}>${STATES[state]}<//>${primary && html`<${Chip}>main<//>`}</span>`,
      },
      {
        label: 'Game',
        cell: ({ game }: HostedDomain) =>
          game
            ? html`<a href=${`/games/${game.slug}`}><bdi>${game.title}</bdi></a>`
            : html`<span class="soft">deleted</span>`,
      },
      {
        label: 'Owner',
        cell: ({ game }: HostedDomain) =>
          game &&
          html`<a href=${`/admin/players/${game.ownerId}`}><bdi>${owners.get(game.ownerId) ?? game.ownerId}</bdi></a>`,
      },
      { label: 'Checked', cell: ({ checkedAt }: HostedDomain) => html`<${Timestamp} at=${checkedAt} />` },
      {
        label: 'Actions',
        action: true,
        cell: ({ id, name }: HostedDomain) =>
          html`<${Confirm} label="Remove" name=${`Remove ${name}`} action=${`/admin/domains/${id}/remove`} submit=${`Remove ${name}`}><p>The domain no longer serves the game. The owner can add it again.</p><//>`,
      },
    ]
    const empty = html`<${EmptyState} title="No domains yet">Makers add them in the settings of their games.<//>`
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: 'Domains',
      current: '/admin/domains',
      user: callerOf(request).viewer,
      flash: removed ? { message: `${removed} was removed.` } : null,
      body: html`
        <${PageHeader} title="Domains" lede="Domains that makers added to their games. A domain works once a DNS record proves its ownership." />
        <${Stack}>
          <${Table} caption="Domains" columns=${columns} rows=${domains} empty=${empty} />
          <${Pagination} label="Domains" next=${nextCursor && `/admin/domains?cursor=${nextCursor}`} first=${cursor ? '/admin/domains' : null} />
        <//>`,
    })
  })

  app.post(
    '/admin/domains/:id/remove',
    { ...adminPage, schema: { params: Type.Object({ id: Type.String({ maxLength: 40 }) }) } },
    async (request, reply) => {
      const name = await app.domains.removeById(request.params.id, actorOf(request))
      request.log.info({ domain: name, by: callerOf(request).playerId }, 'an administrator removed a domain')
      return reply.redirect(`/admin/domains?removed=${encodeURIComponent(name)}`, 303)
    },
  )
}
