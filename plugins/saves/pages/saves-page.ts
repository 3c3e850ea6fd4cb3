import {
  Button,
  Card,
  Chip,
  type Content,
  EmptyState,
  formatBytes,
  html,
  Pagination,
  Section,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { SettingsHeader } from '../../oauth-idp/index.ts'
import type { GameSaves } from '../player-saves.ts'
import type { KeptVersion, SaveInfo } from '../schemas.ts'

/** A page under /settings. */
interface SettingsEntry {
  label: string
  href: string
  order: number
}

type Line = Omit<SaveInfo, 'size'> & { size: number | null }

/** Returns the path of the page of one save. */
export const pathOf = (gameId: string, key: string): string => `/settings/saves/${gameId}/${key}`

interface SavesPageProps {
  entries: SettingsEntry[]
  games: GameSaves[]
  nextCursor: string | null
  /** Whether it is a page after the first. */
  paged: boolean
}

/** /settings/saves: the saves of a player, by game. */
export const SavesPage = ({ entries, games, nextCursor, paged }: SavesPageProps): View => html`
  <${SettingsHeader} entries=${entries} current="/settings/saves" />
  ${
    games.length === 0 &&
    html`<${Section} title="Saves" description="What games keep of your progress.">
      <${Card}><${EmptyState} title="No game has saved anything yet">Play one that saves, and it shows here.<//><//>
    <//>`
  }
  ${games.map(
    ({ game, usedBytes, limitBytes, saves, deleted }) => html`
      <${Section} title=${game.title}
        description=${`${formatBytes(usedBytes)} of ${formatBytes(limitBytes)}. A deleted save can be put back for 30 days.`}>
        ${Table<Line>({
          caption: `Saves of ${game.title}`,
          rows: [...saves, ...deleted.map((save) => ({ ...save, size: null }))],
          columns: columnsFor(game.id),
        })}
      <//>`,
  )}
  <${Pagination} label="Saves" next=${nextCursor && `/settings/saves?cursor=${nextCursor}`} first=${paged && '/settings/saves'} />`

const columnsFor = (gameId: string) => [
  {
    label: 'Save',
    cell: ({ key, size }: Line) =>
      html`<a href=${pathOf(gameId, key)}>${key}</a>${size === null && html` <${Chip}>deleted<//>`}`,
  },
  { label: 'Size', align: 'end' as const, cell: ({ size }: Line) => (size === null ? '–' : formatBytes(size)) },
  { label: 'Saved', cell: ({ updatedAt }: Line) => html`<${Timestamp} at=${updatedAt} />` },
  {
    label: 'Actions',
    action: true,
    cell: ({ key, size }: Line): Content =>
      size === null
        ? html`<${Button} small href=${pathOf(gameId, key)} label=${`Put back ${key}`}>Put back<//>`
        : html`<${Button} small href=${`${pathOf(gameId, key)}/value`} label=${`Download ${key}`} download>Download<//>`,
  },
]

interface SavePageProps {
  entries: SettingsEntry[]
  game: { id: string; title: string }
  saveKey: string
  /** The kept versions, newest first. */
  versions: KeptVersion[]
}

/** /settings/saves/:gameId/:key: one save with its versions. */
export const SavePage = ({ entries, game, saveKey, versions }: SavePageProps): View => html`
  <${SettingsHeader} entries=${entries} current="/settings/saves" />
  <${Section} title=${saveKey} description=${`A save of ${game.title}. An earlier version stays for 30 days.`}>
    ${Table<KeptVersion>({
      caption: `Versions of ${saveKey}`,
      rows: versions,
      columns: [
        {
          label: 'Version',
          cell: ({ version, current }) => html`${version}${current && html` <${Chip} tone="ok">current<//>`}`,
        },
        { label: 'Size', align: 'end', cell: ({ size }) => formatBytes(size) },
        { label: 'Type', cell: ({ contentType }) => contentType },
        { label: 'Saved', cell: ({ updatedAt }) => html`<${Timestamp} at=${updatedAt} />` },
        { label: 'Actions', action: true, cell: (version) => action(game.id, saveKey, version) },
      ],
    })}
    <p><a href="/settings/saves">All saves</a></p>
  <//>
  ${
    versions.some(({ current }) => current) &&
    html`<${Section} layout="side" title="Delete this save" description="The game starts over without it. You can put it back here for 30 days.">
      <${Card}><form action=${`${pathOf(game.id, saveKey)}/delete`} method="post">
        <${Button} kind="danger" label=${`Delete ${saveKey}`}>Delete<//>
      </form><//>
    <//>`
  }`

const action = (gameId: string, key: string, { version, current }: KeptVersion): Content =>
  current
    ? html`<${Button} small href=${`${pathOf(gameId, key)}/value`} label=${`Download ${key}`} download>Download<//>`
    : html`<form action=${`${pathOf(gameId, key)}/restore`} method="post">
        <input type="hidden" name="version" value=${version} />
        <${Button} small label=${`Put back version ${version}`}>Put back<//>
      </form>`
