import {
  Avatar,
  Button,
  Card,
  Choices,
  Confirm,
  Form,
  formatBytes,
  html,
  Section,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { personLabel } from './person-label.ts'
import type { Member, Transfer } from './schemas.ts'

interface Quota {
  used: number
  limit: number | null
}

/** What the maker has, to whom a game is offered, and may have. */
export interface ReceiverQuotas {
  gamesPerPlayer: Quota
  storageBytesPerPlayer: Quota
}

interface OfferProps {
  /** The path of the team's page. */
  path: string
  transfer: Transfer
  quotas: ReceiverQuotas
}

/** The offer of the game to the viewer, with what counts for them when they accept it. */
export function offerToViewer({ path, transfer, quotas }: OfferProps): View {
  const { from, counts, expiresAt } = transfer
  return html`<${Section} title="This game is offered to you" id="offer"><${Card}>
    <p class="person"><${Avatar} ...${from} size="s" /><span><bdi>${from.name}</bdi> asks you to become its owner. You alone then decide who is in the team, and may delete the game. <bdi>${from.name}</bdi> stays a maker.</span></p>
    <ul>
      <li>It counts as one of your games. ${havingOf(quotas.gamesPerPlayer, String)}</li>
      <li>Its files and saves count for your storage with ${formatBytes(counts.storedBytes)}, as of the offer. ${havingOf(quotas.storageBytesPerPlayer, formatBytes)}</li>
    </ul>
    <p class="soft">Valid until <${Timestamp} at=${expiresAt} /></p>
    <div class="row">
      <${Form} action=${`${path}/transfer/accept`}><${Button} kind="act">Become the owner<//><//>
      <${Form} action=${`${path}/transfer/end`}><${Button}>Decline<//><//>
    </div>
  <//><//>`
}

const havingOf = ({ used, limit }: Quota, format: (amount: number) => string): string =>
  limit === null ? `You have ${format(used)} now.` : `You have ${format(used)} of ${format(limit)} now.`

interface TransferProps {
  path: string
  transfer: Transfer | null
  makers: readonly Member[]
}

/** For the owner: the offer of the game, or the choice of a maker to whom it is offered; null where there is no maker. */
export function transferSection({ path, transfer, makers }: TransferProps): View | null {
  if (!transfer && makers.length === 0) return null
  return html`<${Section} layout="side" title="New owner" id="transfer" description="A maker who accepts within a week owns the game, with all that it stores. You stay a maker. Its client secret stays valid until the new owner creates another one. The offer needs a sign-in of the last ten minutes.">
    ${transfer ? openOffer(path, transfer) : offerForm(path, makers)}
  <//>`
}

const openOffer = (path: string, { to, expiresAt }: Transfer): View => html`
  <${Card} title=${personLabel(to, 'Offered to ')}>
    <p class="soft">Until <${Timestamp} at=${expiresAt} /></p>
    <div class="row"><${Form} action=${`${path}/transfer/end`}><${Button} small kind="danger" label="Take back the offer of the game">Take back<//><//></div>
  <//>`

function offerForm(path: string, makers: readonly Member[]): View {
  const options = makers.map(({ player }) => ({ value: player.id, label: personLabel(player) }))
  return html`<${Card}><${Confirm} kind="plain" label="Choose a new owner" submit="Offer the game" action=${`${path}/transfer`}>
    <${Choices} legend="Who should own it?" name="maker" value=${makers.length === 1 ? options[0]?.value : undefined} options=${options} />
  <//><//>`
}
