import {
  Card,
  Chip,
  DescriptionList,
  EmptyState,
  Field,
  Form,
  formatBytes,
  html,
  PageHeader,
  Section,
  Table,
  type View,
} from '../../../core/pages/index.ts'
import { type LimitOverrides, QUOTA_NAMES, type QuotaName, type Quotas } from '../schemas.ts'
import { quotaItems } from './usage-page.ts'

export interface PlayerUse {
  playerId: string
  name: string
  bytes: number
  hasOverrides: boolean
}

/** /admin/quotas: players in order of their stored bytes. */
export const PlayersPage = ({ players }: { players: PlayerUse[] }): View => html`
  <${PageHeader} title="Quotas" lede="What is stored for each player, most first. Open a player to set other numbers." />
  ${Table<PlayerUse>({
    caption: 'Players by stored bytes',
    rows: players,
    columns: [
      {
        label: 'Player',
        cell: ({ playerId, name, hasOverrides }) =>
          html`<a href=${`/admin/quotas/${playerId}`}>${name}</a>${hasOverrides && html` <${Chip}>own numbers<//>`}`,
      },
      { label: 'Stored', align: 'end', cell: ({ bytes }) => formatBytes(bytes) },
    ],
    empty: html`<${EmptyState} title="Nothing is stored for anybody yet">Deploys, assets and pictures of games show here.<//>`,
  })}`

const LABELS: Record<QuotaName, string> = {
  storageBytesPerPlayer: 'Stored bytes',
  gamesPerPlayer: 'Games',
  assetsPerPlayer: 'Assets',
  uploadBytesPerDay: 'Bytes uploaded in a day',
}

interface PlayerQuotasPageProps {
  player: { id: string; name: string }
  quotas: Quotas
  overrides: LimitOverrides
  /** The text as entered, if it was refused. */
  typed?: Partial<Record<QuotaName, string>>
  problems?: Partial<Record<QuotaName, string>>
}

/** /admin/quotas/:playerId: the limits of one player. */
export const PlayerQuotasPage = ({
  player,
  quotas,
  overrides,
  typed = {},
  problems = {},
}: PlayerQuotasPageProps): View => html`
  <${PageHeader} title=${`Quotas of ${player.name}`} crumbs=${[{ label: 'Quotas', href: '/admin/quotas' }]} />
  <${Section} layout="side" title="Now" description=${html`<a href=${`/admin/players/${player.id}`}>The player’s page</a>`}>
    <${Card}><${DescriptionList} items=${quotaItems(quotas)} /><//>
  <//>
  <${Section} layout="side" title="Other numbers"
    description="Empty: the number of the configuration. “none”: no limit. What is there stays, whatever the number.">
    <${Card}>
      <${Form} action=${`/admin/quotas/${player.id}`} submit="Save">
        ${QUOTA_NAMES.map(
          (name) => html`<${Field} label=${LABELS[name]} name=${name} value=${typed[name] ?? shown(overrides[name])}
            error=${problems[name]} required=${false} maxlength=${20} autocomplete="off" inputmode="text" />`,
        )}
      <//>
    <//>
  <//>`

const shown = (limit: number | null | undefined): string =>
  limit === undefined ? '' : limit === null ? 'none' : String(limit)
