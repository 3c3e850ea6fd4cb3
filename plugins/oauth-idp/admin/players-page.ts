import {
  Avatar,
  Button,
  Chip,
  EmptyState,
  html,
  PageHeader,
  Pagination,
  Search,
  Stack,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import type { ManagedPlayer, PlayerFilter } from './administration.ts'

interface PlayersPageProps {
  players: ManagedPlayer[]
  nextCursor: string | null
  q: string | undefined
  filter: PlayerFilter
  paged: boolean
  /** Whether the page links to the invitations. */
  invites: boolean
}

const FILTERS: { label: string; filter: PlayerFilter }[] = [
  { label: 'All', filter: {} },
  { label: 'Administrators', filter: { role: 'admin' } },
  { label: 'Moderators', filter: { role: 'moderator' } },
  { label: 'Trusted', filter: { state: 'trusted' } },
  { label: 'Disabled', filter: { state: 'disabled' } },
  { label: 'Guests', filter: { state: 'guest' } },
]

export function PlayersPage({ players, nextCursor, q, filter, paged, invites }: PlayersPageProps): View {
  const listPath = ({ role, state }: PlayerFilter, cursor?: string) => {
    const query = new URLSearchParams(
      Object.entries({ q, role, state, cursor }).flatMap(([name, value]) => (value ? [[name, value]] : [])),
    )
    return `/admin/players${query.size > 0 ? `?${query}` : ''}`
  }
  return html`
    <${PageHeader} title="Players" lede="All accounts and guests, newest first."
      actions=${invites && html`<${Button} href="/admin/invitations">Invitations<//>`} />
    <${Stack}>
      <${Search} action="/admin/players" label="Search by name, email or id" value=${q} />
      <nav class="tags" aria-label="Filter">${FILTERS.map(
        ({ label, filter: each }) =>
          html`<a href=${listPath(each)} aria-current=${each.role === filter.role && each.state === filter.state ? 'true' : undefined}>${label}</a>`,
      )}</nav>
      <${Table} ...${{
        caption: 'Players',
        rows: players,
        columns: [
          { label: 'Player', cell: (player: ManagedPlayer) => html`<${Person} player=${player} />` },
          { label: 'Email', cell: (player: ManagedPlayer) => player.email ?? html`<span class="soft">none</span>` },
          { label: 'Since', cell: (player: ManagedPlayer) => html`<${Timestamp} at=${player.createdAt} day />` },
          { label: 'State', cell: (player: ManagedPlayer) => html`<${State} player=${player} />` },
        ],
        empty: html`<${EmptyState} title="Nobody found">No player is like this, or has this in their name, address or id.<//>`,
      }} />
      <${Pagination} label="Players" next=${nextCursor && listPath(filter, nextCursor)}
        first=${paged ? listPath(filter) : null} />
    <//>`
}

const Person = ({ player }: { player: ManagedPlayer }): View => html`
  <span class="person"><${Avatar} name=${player.name} imageUrl=${pathOf(player.imageUrl)} size="s" />
    <a href=${`/admin/players/${player.id}`} dir="auto">${player.name}</a></span>`

export const State = ({ player }: { player: ManagedPlayer }): View => html`
  <span class="row">
    ${player.disabled && html`<${Chip} tone="error">disabled<//>`}
    ${player.role !== 'player' && html`<${Chip} tone="success">${player.role}<//>`}
    ${player.trusted && html`<${Chip} tone="success">trusted<//>`}
    ${player.isGuest && html`<${Chip}>guest<//>`}
    ${!player.disabled && player.role === 'player' && !player.isGuest && html`<${Chip}>player<//>`}
  </span>`

/** Returns the path of a picture on the portal. The query distinguishes a new picture from a cached one. */
export function pathOf(imageUrl: string): string {
  const { pathname, search } = new URL(imageUrl)
  return pathname + search
}
