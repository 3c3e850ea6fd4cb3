import {
  Button,
  Card,
  CopyValue,
  EmptyState,
  Field,
  Form,
  html,
  Notice,
  PageHeader,
  Section,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import type { Invitation } from './administration.ts'

interface InvitationsPageProps {
  invitations: Invitation[]
  /** The link that was just made. */
  link: string | undefined
  signUp: 'open' | 'invite' | 'closed'
}

export const InvitationsPage = ({ invitations, link, signUp }: InvitationsPageProps): View => html`
  <${PageHeader} title="Invitations" crumbs=${[{ label: 'Players', href: '/admin/players' }]}
    lede="Each link makes one account, within fourteen days." />
  ${
    signUp !== 'invite' &&
    html`<${Notice}>${signUp === 'open' ? 'Sign-up is open: nobody needs an invitation.' : 'Sign-up is closed: invitations work once auth.signUp is “invite”.'}<//>`
  }
  ${
    link &&
    html`<${Notice} tone="success" title="The link is shown only this once.">
      <${CopyValue} value=${link} label="Invitation link" />
    <//>`
  }
  <${Section} layout="side" title="Invite somebody" description="Send the link to the person that you invite.">
    <${Card}>
      <${Form} action="/admin/invitations" submit="Create a link">
        <${Field} label="Note" name="note" maxlength=${100} required=${false} autocomplete="off" hint="A note for you." />
      <//>
    <//>
  <//>
  <${Section} layout="side" title="Waiting" description="Not used yet.">
    <${Table} ...${{
      caption: 'Invitations that are not used yet',
      rows: invitations,
      columns: [
        { label: 'Note', cell: ({ note }: Invitation) => note || html`<span class="soft">no note</span>` },
        { label: 'Until', cell: ({ expiresAt }: Invitation) => html`<${Timestamp} at=${expiresAt} />` },
        {
          label: 'Actions',
          action: true,
          cell: ({ id, note }: Invitation) => html`<form action=${`/admin/invitations/${id}/withdraw`} method="post">
            <${Button} small label=${`Withdraw ${note || 'the invitation'}`}>Withdraw<//></form>`,
        },
      ],
      empty: html`<${EmptyState} title="No invitation is waiting">Create a link above, and it shows here until it is used.<//>`,
    }} />
  <//>`
