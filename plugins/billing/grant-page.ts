import { Card, Field, Form, html, PageHeader, Section, Table, type View } from '../../core/pages/index.ts'

export interface GrantForm {
  player: string
  amount: string
  description: string
  problems: Record<string, string>
}

/** A player whose payment was refunded or disputed after its credits were spent. */
export interface Debt {
  playerId: string
  /** Null for an account that has ended. */
  name: string | null
  owed: number
}

/** /admin/credits: administrators grant or remove credits, and see who owes some. */
export const GrantPage = ({ form, key, debts }: { form: GrantForm; key: string; debts: Debt[] }): View => html`
  <${PageHeader} title="Grant credits" lede="The player gets them at once, and sees the entry in their ledger." />
  <${Section} layout="side" title="Player and amount" description="A negative number takes credits away.">
    <${Card}>
      <${Form} action="/admin/credits" submit="Grant">
        <input type="hidden" name="key" value=${key} />
        <${Field} label="Player" name="player" value=${form.player} error=${form.problems.player} required maxlength=${254}
          autocomplete="off" hint="Their email address or player id." />
        <${Field} label="Credits" name="amount" type="number" value=${form.amount} error=${form.problems.amount} required
          min=${-1_000_000} max=${1_000_000} />
        <${Field} label="Reason" name="description" value=${form.description} error=${form.problems.description}
          maxlength=${200} required autocomplete="off" hint="The player reads it." />
      <//>
    <//>
  <//>
  ${debts.length > 0 && html`<${Debts} debts=${debts} />`}`

const number = new Intl.NumberFormat('en')

const Debts = ({ debts }: { debts: Debt[] }): View => html`
  <${Section} title="Debts" description="Payments were refunded or disputed after their credits were spent. The next credits of the player settle the debt first.">
    <${Table} ...${{
      caption: 'Players who owe credits, the largest debts first',
      rows: debts,
      columns: [
        {
          label: 'Player',
          cell: ({ playerId, name }: Debt) =>
            name === null ? 'An account that has ended' : html`<a href=${`/admin/players/${playerId}`}>${name}</a>`,
        },
        { label: 'Credits', align: 'end', cell: ({ owed }: Debt) => number.format(owed) },
      ],
    }} />
  <//>`
