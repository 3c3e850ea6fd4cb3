import {
  Button,
  Card,
  EmptyState,
  Field,
  Form,
  html,
  Notice,
  PageHeader,
  Row,
  Section,
  Table,
  type View,
} from '../../../core/pages/index.ts'
import type { Game } from '../../games/index.ts'
import { SettingsHeader } from '../../oauth-idp/index.ts'
import { MOST_PER_DAY, USUAL_PER_DAY } from '../schemas.ts'
import type { Allowance } from './allowances.ts'

/** A page under /settings. */
interface SettingsEntry {
  label: string
  href: string
  order: number
}

/** `game` is null while the player may not see it. */
type NamedAllowance = Allowance & { game: Game | null }

interface AllowancesPageProps {
  entries: SettingsEntry[]
  rows: NamedAllowance[]
  /** The credits that the player can spend. */
  available: number
}

const number = new Intl.NumberFormat('en')
const titleOf = ({ game }: NamedAllowance): string => game?.title ?? 'A game that is not shown'

/** /settings/ai: the games that may spend the player's credits on AI. */
export const AllowancesPage = ({ entries, rows, available }: AllowancesPageProps): View => html`
  <${SettingsHeader} entries=${entries} current="/settings/ai" />
  <${Section} title="AI in games"
    description=${`These games may spend credits of yours on AI. You have ${number.format(available)} credits. Days are in UTC.`}>
    ${
      rows.length === 0
        ? html`<${Card}><${EmptyState} title="No game may spend your credits">A game that uses AI asks you first.<//><//>`
        : Table<NamedAllowance>({
            caption: 'Games that may spend your credits on AI',
            rows,
            columns: [
              {
                label: 'Game',
                cell: (row) =>
                  row.game ? html`<a href=${`/settings/ai/${row.gameId}`}>${titleOf(row)}</a>` : titleOf(row),
              },
              { label: 'Credits a day', align: 'end', cell: ({ creditsPerDay }) => number.format(creditsPerDay) },
              { label: 'Used today', align: 'end', cell: ({ used }) => number.format(used) },
              {
                label: 'Actions',
                action: true,
                cell: (row) => html`<form action=${`/settings/ai/${row.gameId}/revoke`} method="post">
                  <${Button} small label=${`Revoke AI in ${titleOf(row)}`}>Revoke<//>
                </form>`,
              },
            ],
          })
    }
  <//>`

interface AllowancePageProps {
  game: Game
  /** What the player allows now; null for nothing. */
  allowance: Allowance | null
  /** The credits that the player can spend. */
  available: number
  playerName: string
  isGuest: boolean
  /** Whether the player has allowed it with this page. */
  isDone: boolean
  /** The entered number that is not one. */
  refused: string | undefined
}

/** /settings/ai/:gameId: asks whether a game may spend credits, and how many a day. */
export const AllowancePage = (props: AllowancePageProps): View => html`
  <div class="stack">
    <${PageHeader} title=${`AI in ${props.game.title}`}
      lede="This game generates texts and pictures with AI while you play. That costs credits of yours." />
    ${props.isGuest ? html`<${GuestNotice} />` : html`<${Consent} ...${props} />`}
    <p><a href="/settings/ai">All games with AI</a></p>
  </div>`

const GuestNotice = (): View => html`
  <${Notice} tone="warn" title="A guest can’t spend credits in a game">
    Create an account in <a href="/settings">your settings</a>. You keep what you have.
  <//>`

const Consent = ({ game, allowance, available, playerName, isDone, refused }: AllowancePageProps): View => html`
  ${
    isDone &&
    allowance &&
    html`<${Notice} tone="success" title="Allowed">
      ${game.title} may spend up to ${number.format(allowance.creditsPerDay)} credits a day. Go back to the game, and close this
      page.
    <//>`
  }
  <${Card}>
    <dl class="facts">
      <div><dt>Your account</dt><dd>${playerName}</dd></div>
      <div><dt>Your credits</dt><dd>${number.format(available)}. The game does not see this number.</dd></div>
      ${allowance && html`<div><dt>Used today</dt><dd>${number.format(allowance.used)} of ${number.format(allowance.creditsPerDay)}</dd></div>`}
    </dl>
    <${Form} action=${`/settings/ai/${game.id}`}>
      <${Field} label="Credits a day" name="creditsPerDay" type="number" min=${1} max=${MOST_PER_DAY} required
        value=${refused ?? allowance?.creditsPerDay ?? USUAL_PER_DAY} autocomplete="off"
        hint="The most that this game may spend in a day. Days begin at midnight UTC."
        error=${refused === undefined ? undefined : `Enter a whole number from 1 to ${number.format(MOST_PER_DAY)}.`} />
      <${Row}>
        <${Button} kind="act">${allowance ? 'Change' : 'Allow'}<//>
        ${!allowance && html`<${Button} href="/settings/ai">Don’t allow<//>`}
      <//>
    <//>
  <//>
  ${
    allowance
      ? html`<form action=${`/settings/ai/${game.id}/revoke`} method="post"><${Button} kind="danger">Revoke<//></form>`
      : html`<p class="hint">You can revoke it at any time in your settings.</p>`
  }`
