import { Card, Field, Form, html, PageHeader, Section, type View } from '../../core/pages/index.ts'

export interface GrantForm {
  player: string
  amount: string
  description: string
  problems: Record<string, string>
}

/** /admin/credits: administrators grant or remove credits. */
export const GrantPage = ({ form, key }: { form: GrantForm; key: string }): View => html`
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
  <//>`
