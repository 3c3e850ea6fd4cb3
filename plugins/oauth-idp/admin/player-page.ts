import { REASON_LENGTH } from '../../../core/data/staff/suspensions.ts'
import type { Role } from '../../../core/http/auth.ts'
import {
  Avatar,
  Button,
  Card,
  Checkbox,
  Confirm,
  CopyValue,
  DescriptionList,
  Field,
  Form,
  html,
  Notice,
  PageHeader,
  Section,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import type { SharedItem } from '../players/shared-content.ts'
import { SharedContentFields } from '../players/shared-content-fields.ts'
import type { ManagedPlayer } from './administration.ts'
import { pathOf, State } from './players-page.ts'

/** A page about a player, for the staff. */
export interface PlayerLink {
  label: string
  order: number
  /** The least role of the viewer; default: a moderator. */
  role?: Role
  href(playerId: string): string
}

interface PlayerPageProps {
  links: readonly PlayerLink[]
  player: ManagedPlayer
  isMe: boolean
  /** The role of the viewer. */
  viewerRole: Role
  /** What others use as well, about which is decided before the account ends. */
  sharedContent: readonly SharedItem[]
  /** What goes with the account, in sentences. */
  losses: string
  /** The link for a new password that was just made. */
  passwordLink: string | undefined
}

const ROLES = [
  { value: 'player', label: 'Player' },
  { value: 'moderator', label: 'Moderator' },
  { value: 'admin', label: 'Administrator' },
]

export function PlayerPage(props: PlayerPageProps): View {
  const { player, isMe, viewerRole, links, sharedContent, losses, passwordLink } = props
  const { id, name, email, emailVerified, imageUrl, createdAt, disabled, trusted, role, isGuest } = player
  const administers = viewerRole === 'admin'
  const post = (step: string) => `/admin/players/${id}/${step}`
  return html`
    <${PageHeader} title=${name} crumbs=${[{ label: 'Players', href: '/admin/players' }]}
      chips=${html`<${State} player=${player} />`} />
    ${
      passwordLink &&
      html`<${Notice} tone="success" title="The link is shown only this once.">
        <p>Give it to ${name}, who sets a new password by it. It works once, within an hour.</p>
        <${CopyValue} value=${passwordLink} label="Link for a new password" />
      <//>`
    }
    <${Section} layout="side" title="Player" description=${html`<${Avatar} name=${name} imageUrl=${pathOf(imageUrl)} size="l" />`}>
      <${Card}>
        <${DescriptionList} items=${[
          { term: 'Email', detail: email ? `${email}${emailVerified ? '' : ' (not verified)'}` : 'none' },
          { term: 'Player id', detail: html`<code>${id}</code>` },
          { term: 'Here since', detail: html`<${Timestamp} at=${createdAt} />` },
        ]} />
        ${
          links.length > 0 &&
          html`<div class="row">${links
            .filter((link) => administers || link.role !== 'admin')
            .toSorted((one, other) => one.order - other.order)
            .map(({ label, href }) => html`<${Button} small href=${href(id)}>${label}<//>`)}</div>`
        }
      <//>
    <//>
    ${
      !administers && (isMe || role !== 'player')
        ? html`<${Notice} tone="info">Only an administrator acts on a moderator or an administrator.<//>`
        : isMe
          ? html`<${Section} layout="side" title="This is you" description="Your own account is in the settings.">
            <${Card}><div class="row"><${Button} href="/settings">Settings<//></div><//>
          <//>`
          : html`
            <${Section} layout="side" title="Access" description="Takes effect at once, in games too.">
              <${Card}>
                ${
                  disabled
                    ? html`<form action=${post('enable')} method="post"><${Button}>Let in again<//></form>`
                    : html`<${Form} action=${post('disable')} submit="Disable" kind="plain">
                        <${Field} label="Reason" name="reason" maxlength=${REASON_LENGTH} autocomplete="off"
                          hint="They get it by mail, and read it when they try to sign in." />
                        <${Checkbox} name="withContent" label="Suspend their games, too" checked />
                      <//>`
                }
                ${administers && html`<form action=${post('sign-out')} method="post"><${Button}>Sign out everywhere<//></form>`}
              <//>
            <//>
            <${Section} layout="side" title="Profile" description="For a name or a picture that others should not see.">
              <${Card}>
                <${Form} action=${post('rename')} submit="Change the name" kind="plain">
                  <${Field} label="Name" name="name" value=${name} required maxlength=${60} autocomplete="off" />
                <//>
                <form action=${post('picture/remove')} method="post"><${Button}>Remove the picture<//></form>
              <//>
            <//>
            ${
              administers &&
              email &&
              !disabled &&
              role !== 'admin' &&
              html`<${Section} layout="side" title="Password" description="For somebody who has forgotten it and gets no mail. Nothing changes until they use the link.">
                <${Card}><form class="row" action=${post('password-link')} method="post">
                  <${Button}>Make a link for a new password<//></form><//>
              <//>`
            }
            ${
              !isGuest &&
              role === 'player' &&
              html`<${Section} layout="side" title="Publishing" description="Where new games wait for approval (games.publish), those of a trusted player do not.">
                <${Card}><form class="row" action=${post(trusted ? 'distrust' : 'trust')} method="post">
                  <${Button}>${trusted ? 'Trust no longer' : 'Trust'}<//></form><//>
              <//>`
            }
            ${
              administers &&
              !isGuest &&
              html`<${Section} layout="side" title="Role" description="A moderator works the queue of reports, suspends games and assets, and disables players. An administrator also sees the configuration, and operates this server.">
                <${Card}><${Form} action=${post('role')} submit="Change the role" kind="plain">
                  <${Field} type="select" label="Role" name="role" value=${role} options=${ROLES} /><//><//>
              <//>`
            }
            ${
              administers &&
              html`<${Section} layout="side" title="Data" description="What this server stores about them, as JSON: for somebody who asks for it and can't sign in. They are told by mail.">
                <${Card}><form class="row" action=${post('export')} method="post">
                  <${Button}>Download their data<//></form><//>
              <//>`
            }
            ${
              administers &&
              html`<${Section} layout="side" title="Delete" description="For good: the account, its sessions, tokens and picture.">
              <${Card}><${Confirm} label="Delete player" action=${post('delete')} submit=${`Delete ${name}`}>
                ${losses && html`<p><strong>${losses}</strong></p>`}
                <p>This can't be undone. To lock a player out and keep the account, disable it.</p>
                <${SharedContentFields} items=${sharedContent} />
                <${Field} label=${`Type ${id.slice(-6)}, the end of the player id, to confirm`} name="confirm" required autocomplete="off" mono />
              <//><//>
            <//>`
            }`
    }`
}
