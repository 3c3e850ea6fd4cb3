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
  type View,
} from '../../../core/pages.ts'
import type { FormTrouble } from '../forms.ts'
import { LARGEST } from '../players/avatar-image.ts'
import type { Player } from '../players/schemas.ts'
import { NewPasswordField } from '../players/sign-in-page.ts'
import { type SettingsEntry, SettingsHeader } from './header.ts'

/** Of a form that was refused: which one, what was entered, what is wrong. */
export interface Refused {
  form: 'name' | 'picture' | 'upgrade' | 'delete' | 'verify' | 'email'
  trouble: FormTrouble
  name?: string
  email?: string
}

interface AccountPageProps {
  entries: SettingsEntry[]
  player: Player
  hasPicture: boolean
  hasPassword: boolean
  minLength: number
  canUpgrade: boolean
  refused?: Refused | undefined
}

export const AccountPage = (props: AccountPageProps): View => {
  const { player, refused } = props
  const troubleOf = (form: Refused['form']) => (refused?.form === form ? refused.trouble : undefined)
  const name = troubleOf('name')
  return html`
    <${SettingsHeader} entries=${props.entries} current="/settings" />
    ${player.isGuest && html`<${Upgrade} ...${props} trouble=${troubleOf('upgrade')} />`}
    <${Section} layout="side" title="Profile" description="What other players see.">
      <${Card}>
        <${Form} action="/settings/name" submit="Save" kind=${player.isGuest ? 'plain' : 'act'} error=${name?.message}>
          <${Field} label="Name" name="name" value=${refused?.form === 'name' ? refused.name : player.name} required
            maxlength=${60} autocomplete="nickname" error=${name?.fields.name} />
        <//>
      <//>
    <//>
    <${Picture} ...${props} trouble=${troubleOf('picture')} />
    ${player.email && html`<${Address} ...${props} trouble=${troubleOf('verify')} changing=${troubleOf('email')} />`}
    <${Section} layout="side" title="Your data" description="What this server knows of you, as one file.">
      <${Card}><div class="row"><${Button} href="/settings/export">Download as JSON<//></div><//>
    <//>
    <${Deletion} ...${props} trouble=${troubleOf('delete')} />`
}

type PartProps = AccountPageProps & { trouble: FormTrouble | undefined }

const Upgrade = ({ canUpgrade, refused, player, minLength, trouble }: PartProps): View => html`
  <${Section} layout="side" title="Keep this player"
    description="You play as a guest: when this browser forgets you, nobody can bring you back. An account keeps your name, your id and what you won.">
    <${Card}>
      ${
        canUpgrade
          ? html`<${Form} action="/settings/upgrade" submit="Make it an account" error=${trouble?.message}>
              <${Field} label="Name" name="name" id="upgrade-name" value=${refused?.form === 'upgrade' ? refused.name : player.name}
                required maxlength=${60} autocomplete="nickname" error=${trouble?.fields.name} />
              <${Field} label="Email" name="email" type="email" value=${refused?.email} required autocomplete="username"
                hint="You sign in with it. Games don't see it unless you say so." error=${trouble?.fields.email} />
              <${NewPasswordField} minLength=${minLength} error=${trouble?.fields.password} />
            <//>`
          : html`<p>Accounts here are made by invitation. Open the link you get in this browser, and it becomes this player's.</p>`
      }
    <//>
  <//>`

const Picture = ({ player, hasPicture, trouble }: PartProps): View => html`
  <${Section} layout="side" title="Picture" description="Beside your name, here and in games.">
    <${Card}>
      <div class="picture">
        <${Avatar} name=${player.name} imageUrl=${player.imageUrl} size="l" />
        <div class="stack">
          <${Form} action="/settings/picture" multipart submit="Upload" kind="plain" error=${trouble?.message} id="picture">
            <${Field} label="Picture" name="picture" type="file" accept="image/png,image/jpeg" required
              hint=${`PNG or JPEG, at most ${LARGEST.side} × ${LARGEST.side} pixels and ${LARGEST.bytes / 1024 / 1024} MB.`}
              error=${trouble?.fields.picture} />
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
  trouble,
  changing,
}: PartProps & { changing: FormTrouble | undefined }): View => html`
  <${Section} layout="side" title="Email" description="You sign in with it, and a lost password is mended through it.">
    <${Card}>
      <div class="row"><strong class="address-text">${player.email}</strong>
        ${player.emailVerified ? html`<${Chip} tone="success">verified<//>` : html`<${Chip} tone="warn">not verified<//>`}</div>
      ${trouble?.message && html`<${Notice} tone="error">${trouble.message}<//>`}
      <div class="row">
      ${
        !player.emailVerified &&
        html`<form action="/settings/verify-email" method="post"><${Button}>Send a link to verify it<//></form>`
      }
      <${Confirm} label="Change the address" kind="plain" action="/settings/email" submit="Send a link to it" open=${changing !== undefined} error=${changing?.message}>
        <${Field} label="New address" name="email" type="email" required autocomplete="email" value=${changing && refused?.email}
          hint="It counts once you have opened the link that is sent there. The old address is told." error=${changing?.fields.email} />
        ${
          hasPassword &&
          html`<${Field} label="Your password" name="password" id="email-password" type="password" required autocomplete="current-password"
            error=${changing?.fields.password} />`
        }
      <//>
      </div>
    <//>
  <//>`

const Deletion = ({ player, hasPassword, trouble }: PartProps): View => html`
  <${Section} layout="side" title="Delete" description="For good, and at once. Download your data first.">
    <${Card}>
      ${trouble?.message && html`<${Notice} tone="error">${trouble.message}<//>`}
      <${Confirm} label=${player.isGuest ? 'Delete this guest' : 'Delete account'} action="/settings/delete" submit="Delete for good" open=${trouble !== undefined}>
        <p>Your account, sessions, tokens and picture are deleted. Games keep what they stored under your player id, without your name.</p>
        ${
          hasPassword
            ? html`<${Field} label="Your password" name="password" id="delete-password" type="password" required autocomplete="current-password"
                error=${trouble?.fields.password} />`
            : html`<${Field} label=${`Enter your name, ${player.name}, to confirm`} name="confirm" required autocomplete="off"
                error=${trouble?.fields.confirm} />`
        }
      <//>
    <//>
  <//>`
