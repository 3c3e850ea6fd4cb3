import {
  Button,
  Card,
  CodeBlock,
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
import { type Slip, Slips } from './invitation-slips.ts'
import type { Invitation } from './invitations.ts'

interface InvitationsPageProps {
  invitations: Invitation[]
  /** The links that were just made. */
  made: Slip[]
  /** The address of the sign-up, as one would write it down. */
  signUpAddress: string
  signUp: 'open' | 'invite' | 'closed'
}

export const InvitationsPage = ({ invitations, made, signUpAddress, signUp }: InvitationsPageProps): View => html`
  <${PageHeader} title="Invitations" crumbs=${[{ label: 'Players', href: '/admin/players' }]}
    lede="Each link makes one account, within fourteen days." />
  ${
    signUp !== 'invite' &&
    html`<${Notice}>${signUp === 'open' ? 'Sign-up is open: nobody needs an invitation.' : 'Sign-up is closed: invitations work once auth.signUp is “invite”.'}<//>`
  }
  ${
    made.length > 0 &&
    html`<${Notice} tone="success" title=${made.length === 1 ? 'The link is shown only this once.' : `${made.length} links, which are shown only this once.`}>
      ${made.length === 1 ? html`<${CopyValue} value=${made[0]?.link} label="Invitation link" />` : html`<${CodeBlock} title="For a table or a message" code=${made.map(({ note, link }) => `${note}\t${link}`).join('\n')} />`}
    <//>
    <p class="lede">Printed, this page is a slip for each.</p>
    <${Slips} slips=${made} signUpAddress=${signUpAddress} asksForCode=${signUp !== 'open'} />`
  }
  <${Section} layout="side" title="Invite somebody" description="Send each link to the person that you invite.">
    <${Card}>
      <${Form} action="/admin/invitations" submit="Create the links">
        <${Field} label="For whom" name="note" type="textarea" rows=${4} maxlength=${20_000} required=${false} autocomplete="off"
          hint="A note for you. Each line makes a link of its own, up to 100: paste the names of a class." />
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
      empty: html`<${EmptyState} title="No invitation is waiting">Create one above, and it shows here until it is used.<//>`,
    }} />
  <//>`
