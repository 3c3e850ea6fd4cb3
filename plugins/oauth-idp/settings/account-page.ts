import {
  Avatar,
  Button,
  Card,
  Chip,
  Confirm,
  Field,
  Form,
  html,
  Notice,
  Section,
  ShortcutSettings,
  type View,
} from '../../../core/pages/index.ts'
import type { FormProblem } from '../form-problems.ts'
import { LARGEST } from '../players/avatar-image.ts'
import type { Player } from '../players/schemas.ts'
import type { SharedItem } from '../players/shared-content.ts'
import { SharedContentFields } from '../players/shared-content-fields.ts'
import { NewPasswordField } from '../players/sign-in-page.ts'
import { type SettingsEntry, SettingsHeader } from './header.ts'

/** A refused form: its name, the entered values and the errors. */
export interface Refused {
  form: 'name' | 'picture' | 'upgrade' | 'delete' | 'verify' | 'email'
  problem: FormProblem
  name?: string
  email?: string
}

interface AccountPageProps {
  entries: SettingsEntry[]
  player: Player
  hasPicture: boolean
  hasPassword: boolean
  minLength: number
  signUp: 'open' | 'invite' | 'closed'
  /** What others use as well, about which the player decides before the account ends. */
  sharedContent: readonly SharedItem[]
  /** What goes with the account, in sentences. */
  losses: string
  refused?: Refused | undefined
}

export const AccountPage = (props: AccountPageProps): View => {
  const { player, refused } = props
  const formProblemOf = (form: Refused['form']) => (refused?.form === form ? refused.problem : undefined)
  const name = formProblemOf('name')
  return html`
    <${SettingsHeader} entries=${props.entries} current="/settings" />
    ${player.isGuest && html`<${Upgrade} ...${props} problem=${formProblemOf('upgrade')} />`}
    <${Section} layout="side" title="Profile" description="Other players see it.">
      <${Card}>
        <${Form} action="/settings/name" submit="Save" kind=${player.isGuest ? 'plain' : 'act'} error=${name?.message}>
          <${Field} label="Name" name="name" value=${refused?.form === 'name' ? refused.name : player.name} required
            maxlength=${60} autocomplete="nickname" error=${name?.fields.name} />
        <//>
      <//>
    <//>
    <${Picture} ...${props} problem=${formProblemOf('picture')} />
    ${
      player.email
        ? html`<${Address} ...${props} problem=${formProblemOf('verify')} changing=${formProblemOf('email')} />`
        : !player.isGuest && html`<${FirstAddress} ...${props} problem=${formProblemOf('email')} />`
    }
    <${ShortcutSettings} />
    <${Section} layout="side" title="Your data" description="All data that this server has about you, as one file. It needs a sign-in of the last ten minutes.">
      <${Card}><div class="row"><${Button} href="/settings/export">Download as JSON<//></div><//>
    <//>
    <${Deletion} ...${props} problem=${formProblemOf('delete')} />`
}

type PartProps = AccountPageProps & { problem: FormProblem | undefined }

const Upgrade = ({ signUp, refused, player, minLength, problem }: PartProps): View => html`
  <${Section} layout="side" title="Create an account"
    description="You play as a guest. If this browser loses your session, the player is gone. An account keeps your name, your id and your progress.">
    <${Card}>
      ${
        signUp === 'open'
          ? html`<${Form} action="/settings/upgrade" submit="Create an account" error=${problem?.message}>
              <${Field} label="Name" name="name" id="upgrade-name" value=${refused?.form === 'upgrade' ? refused.name : player.name}
                required maxlength=${60} autocomplete="nickname" error=${problem?.fields.name} />
              <${Field} label="Email" name="email" type="email" value=${refused?.email} required autocomplete="username"
                hint="You sign in with it. Games don't see it unless you say so." error=${problem?.fields.email} />
              <${NewPasswordField} minLength=${minLength} error=${problem?.fields.password} />
            <//>`
          : signUp === 'closed'
            ? html`<p>This server takes no new accounts.</p>`
            : html`<p>Accounts here are made by invitation. Open the link you get in this browser, and it becomes this player's.</p>`
      }
    <//>
  <//>`

const Picture = ({ player, hasPicture, problem }: PartProps): View => html`
  <${Section} layout="side" title="Picture" description="Beside your name, here and in games.">
    <${Card}>
      <div class="picture">
        <${Avatar} name=${player.name} imageUrl=${player.imageUrl} size="l" />
        <div class="stack">
          <${Form} action="/settings/picture" multipart submit="Upload" kind="plain" error=${problem?.message} id="picture">
            <${Field} label="Picture" name="picture" type="file" accept="image/png,image/jpeg" required
              hint=${`PNG or JPEG, at most ${LARGEST.side} × ${LARGEST.side} pixels and ${LARGEST.bytes / 1024 / 1024} MiB.`}
              error=${problem?.fields.picture} />
          <//>
          ${
            hasPicture &&
            html`<form action="/settings/picture/remove" method="post"><${Button} kind="quiet" small>Remove the picture<//></form>`
          }
        </div>
      </div>
    <//>
  <//>`

const Address = ({
  player,
  hasPassword,
  refused,
  problem,
  changing,
}: PartProps & { changing: FormProblem | undefined }): View => html`
  <${Section} layout="side" title="Email" description="You sign in with it. It is also the way to reset a lost password.">
    <${Card}>
      <div class="row"><strong class="address-text">${player.email}</strong>
        ${player.emailVerified ? html`<${Chip} tone="success">verified<//>` : html`<${Chip} tone="warn">not verified<//>`}</div>
      ${problem?.message && html`<${Notice} tone="error">${problem.message}<//>`}
      <div class="row">
      ${
        !player.emailVerified &&
        html`<form action="/settings/verify-email" method="post"><${Button}>Send a link to verify it<//></form>`
      }
      <${Confirm} label="Change the address" kind="plain" action="/settings/email" submit="Send a link to it" open=${changing !== undefined} error=${changing?.message}>
        <${Field} label="New address" name="email" type="email" required autocomplete="email" value=${changing && refused?.email}
          hint="The change takes effect when you open the link in the mail to the new address. The old address gets a notice." error=${changing?.fields.email} />
        ${
          hasPassword &&
          html`<${Field} label="Your password" name="password" id="email-password" type="password" required autocomplete="current-password"
            error=${changing?.fields.password} />`
        }
      <//>
      </div>
    <//>
  <//>`

/** For accounts of a provider that gave no address. */
const FirstAddress = ({ refused, problem }: PartProps): View => html`
  <${Section} layout="side" title="Email"
    description="You have no address yet. With one you can set a password, and reset a lost one. To add it, you need a sign-in of the last ten minutes.">
    <${Card}>
      <${Form} action="/settings/email" submit="Add the address" kind="plain" error=${problem?.message} id="first-address">
        <${Field} label="Email" name="email" type="email" required autocomplete="email" value=${problem && refused?.email}
          hint="Games don't see it unless you say so." error=${problem?.fields.email} />
      <//>
    <//>
  <//>`

const Deletion = ({ player, hasPassword, sharedContent, losses, problem }: PartProps): View => html`
  <${Section} layout="side" title="Delete" description="For good, and at once. Download your data first.">
    <${Card}>
      ${problem?.message && html`<${Notice} tone="error">${problem.message}<//>`}
      <${Confirm} label=${player.isGuest ? 'Delete this guest' : 'Delete account'} action="/settings/delete" submit="Delete for good" open=${problem !== undefined}>
        <p>This deletes your account, sessions, tokens and picture.${losses && html` <strong>${losses}</strong>`}
          Games of others keep results under your player id, without your name.</p>
        <${SharedContentFields} items=${sharedContent} errors=${problem?.fields} />
        ${
          hasPassword
            ? html`<${Field} label="Password, to confirm" name="password" id="delete-password" type="password" required autocomplete="current-password"
                error=${problem?.fields.password} />`
            : html`<${Field} label=${`Enter your name, ${player.name}, to confirm`} name="confirm" required autocomplete="off"
                error=${problem?.fields.confirm} />`
        }
      <//>
    <//>
  <//>`
