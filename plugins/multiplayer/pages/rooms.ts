import {
  AvatarGroup,
  Chip,
  type Column,
  type Content,
  EmptyState,
  formatBytes,
  html,
  Section,
  Stats,
  Table,
  type View,
} from '../../../core/pages/index.ts'
import type { Game } from '../../games/index.ts'
import type { RoomInfo } from '../hosting/rooms.ts'

const MOST = 100

/** Renders the table of the current rooms. @param scriptBytes the memory that each room's script may use */
export function roomsOf(game: Game, rooms: RoomInfo[], scriptBytes: number): View {
  const players = rooms.reduce((sum, room) => sum + room.players, 0)
  const rate = rooms.reduce((sum, room) => sum + room.rate, 0)
  const items = [
    { label: 'players', value: players, live: players > 0 },
    { label: 'rooms', value: rooms.length },
    { label: 'messages a second', value: rate.toFixed(1) },
  ]
  const columns = rooms.some(({ script }) => script) ? [...COLUMNS, ...scriptColumns(game, scriptBytes)] : COLUMNS
  return html`
    <${Section} title="Rooms now" description=${game.settings.multiplayer.enabled ? 'As it is at this moment.' : 'Rooms are turned off in the settings of the game.'}>
      ${rooms.length > 0 && html`<${Stats} items=${items} />`}
      <${Table} caption=${`Rooms of ${game.title}`} columns=${columns} rows=${busiestFirst(rooms)} empty=${NOBODY} />
    <//>`
}

/** Renders the version of a script: the end of the deploy's id, and whether it is the live one. */
export const versionOf = (deployId: string, liveDeployId: string | null): View => html`
  <span><code title=${deployId}>${deployId.slice(-10).toLowerCase()}</code>${deployId !== liveDeployId && html` <${Chip}>not live<//>`}</span>`

const NOBODY = html`<${EmptyState} title="Nobody is in a room">
  <p>A room exists while somebody is in it. A game enters one with <code>join('lobby')</code>.</p>
<//>`

const COLUMNS: Column<RoomInfo>[] = [
  {
    label: 'Room',
    cell: ({ id, preview }) => html`<code>${id}</code>${preview && html` <${Chip}>preview<//>`}`,
  },
  { label: 'Players', align: 'end', cell: (room) => `${room.players} of ${room.capacity}` },
  { label: 'Who', cell: (room) => html`<${AvatarGroup} people=${room.people} />` },
  { label: 'Messages a second', align: 'end', cell: (room) => room.rate.toFixed(1) },
  { label: 'State', cell: (room) => stateOf(room) },
]

const scriptColumns = ({ liveDeployId }: Game, scriptBytes: number): Column<RoomInfo>[] => [
  { label: 'Script', cell: ({ script }) => script && versionOf(script.deployId, liveDeployId) },
  { label: 'Processor', align: 'end', cell: ({ script }) => script && `${Math.round(script.cpuShare * 100)} %` },
  {
    label: `Memory of ${formatBytes(scriptBytes)}`,
    align: 'end',
    cell: ({ script }) => script && formatBytes(script.memoryBytes),
  },
]

const stateOf = ({ locked, people, script }: RoomInfo): Content =>
  script?.lastError
    ? html`<${Chip} tone="error">errors<//>`
    : locked
      ? html`<${Chip}>locked<//>`
      : people.every(({ away }) => away)
        ? html`<${Chip} tone="warn">away<//>`
        : html`<${Chip} live>open<//>`

const busiestFirst = (rooms: RoomInfo[]) =>
  rooms.toSorted((a, b) => b.players - a.players || (a.id < b.id ? -1 : 1)).slice(0, MOST)
