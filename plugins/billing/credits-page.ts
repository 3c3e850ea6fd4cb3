import {
  Button,
  Card,
  EmptyState,
  Form,
  Grid,
  html,
  Notice,
  PageHeader,
  Pagination,
  Section,
  Stats,
  Table,
  Timestamp,
  type View,
} from '../../core/pages/index.ts'
import type { PricedPack } from './price.ts'
import type { Balance, LedgerEntry } from './schemas.ts'

export interface CreditsPageProps {
  balance: Balance
  /** The credits that the player owes. */
  debt: number
  entries: LedgerEntry[]
  nextCursor: string | null
  cursor: string | undefined
  packs: readonly PricedPack[]
  /** The purchase from which the processor redirected the buyer back. */
  purchase: { id: string; credits: number; paid: boolean } | null
  cancelled: boolean
}

/** /credits: a player's balance, history and purchases. */
export const CreditsPage = ({ balance, debt, packs, purchase, cancelled, ...list }: CreditsPageProps): View => html`
  <${PageHeader} title="Credits" lede="You spend them on AI generation, in games and with your own tokens." />
  ${purchase && html`<${PurchaseNotice} purchase=${purchase} />`}
  ${
    debt > 0 &&
    html`<${Notice} tone="warn" title=${`You owe ${number.format(debt)} credits`}>
      A payment of yours was refunded or disputed after its credits were spent. The next credits that you get settle this
      debt first.
    <//>`
  }
  ${cancelled && html`<${Notice}>The purchase was cancelled. Nothing was paid.<//>`}
  <${Section} title="Your balance">
    <${Stats} items=${[
      { label: 'Available', value: balance.available },
      ...(balance.held > 0 ? [{ label: 'Reserved for open generations', value: balance.held }] : []),
    ]} />
  <//>
  ${packs.length > 0 && html`<${Packs} packs=${packs} />`}
  <${Section} title="Ledger"><${Ledger} ...${list} /><//>`

const PurchaseNotice = ({ purchase }: { purchase: NonNullable<CreditsPageProps['purchase']> }): View =>
  purchase.paid
    ? html`<${Notice} tone="success" title="Thank you">${purchase.credits} credits are on your account.<//>`
    : html`<div class="stack" data-await-purchase=${purchase.id} role="status"><${Notice} title="Waiting for the payment">
        The payment processor has not confirmed the payment yet. That takes a few seconds. <a href=${`/credits?purchase=${purchase.id}`}>Look again</a>
      <//></div>`

const Packs = ({ packs }: { packs: readonly PricedPack[] }): View => html`
  <${Section} title="Buy credits" description="You pay at the payment processor. This server never sees your card’s number.">
    <${Grid}>${packs.map(
      ({ id, credits, priceText }) => html`<${Card} title=${`${number.format(credits)} credits`}>
        <p>${priceText}</p>
        <${Form} action="/credits/buy">
          <input type="hidden" name="packId" value=${id} />
          <${Button} label=${`Buy ${credits} credits for ${priceText}`}>Buy<//>
        <//>
      <//>`,
    )}<//>
  <//>`

const Ledger = ({
  entries,
  nextCursor,
  cursor,
}: Pick<CreditsPageProps, 'entries' | 'nextCursor' | 'cursor'>): View => html`
  <${Table} ...${{
    caption: 'Your credits, newest first',
    rows: entries,
    columns: [
      { label: 'What', cell: ({ description }: LedgerEntry) => description },
      { label: 'When', cell: ({ createdAt }: LedgerEntry) => html`<${Timestamp} at=${createdAt} />` },
      { label: 'Credits', align: 'end', cell: ({ amount }: LedgerEntry) => signed.format(amount) },
    ],
    empty: html`<${EmptyState} title="Nothing yet">The list shows all credits that you get and spend.<//>`,
  }} />
  <${Pagination} label="Credits" next=${nextCursor && `/credits?cursor=${nextCursor}`} first=${cursor && '/credits'} />`

const number = new Intl.NumberFormat('en')
const signed = new Intl.NumberFormat('en', { signDisplay: 'always' })
