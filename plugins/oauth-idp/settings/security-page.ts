import {
  Button,
  Card,
  Chip,
  EmptyState,
  Field,
  Form,
  html,
  Section,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import type { FormProblem } from '../form-problems.ts'
import type { Passkey } from '../passkeys/entities.ts'
import { UserName } from '../players/sign-in-page.ts'
import type { SessionEntry } from '../sessions/sessions.ts'
import type { UpstreamAccount } from '../upstream/entities.ts'
import type { ProviderChoice } from '../upstream/providers.ts'
import { browserName } from './browser-name.ts'
import { type SettingsEntry, SettingsHeader } from './header.ts'

interface SecurityPageProps {
  entries: SettingsEntry[]
  email: string | null
  isGuest: boolean
  hasPassword: boolean
  minLength: number
  passkeys: Passkey[]
  /** Whether browsers support passkeys at this address. */
  passkeysPossible: boolean
  /** Returns the host to which a passkey is bound, if it differs from this one. */
  boundElsewhere: (passkey: Passkey) => string | null
  providers: ProviderChoice[]
  accounts: UpstreamAccount[]
  sessions: SessionEntry[]
  currentSession: string
  passwordProblem?: FormProblem | undefined
}

export const SecurityPage = (props: SecurityPageProps): View => html`
  <${SettingsHeader} entries=${props.entries} current="/settings/security" />
  ${
    props.email
      ? html`<${Password} ...${props} />`
      : !props.isGuest &&
        html`<${Section} layout="side" title="Password" description="To have one, you need an email address to sign in with.">
          <${Card}><div class="row"><${Button} href="/settings">Add an email address<//></div><//>
        <//>`
  }
  <${Passkeys} ...${props} />
  ${(props.providers.length > 0 || props.accounts.length > 0) && html`<${Accounts} ...${props} />`}
  <${Section} layout="side" title="Signed in" description="Browsers that can use your account. Sign out those you don't know; that also signs them out of games.">
    <${Sessions} ...${props} />
    ${
      props.sessions.length > 1 &&
      html`<form action="/settings/sessions/revoke-others" method="post"><${Button}>Sign out everywhere else<//></form>`
    }
  <//>`

const Password = ({ email, hasPassword, minLength, passwordProblem }: SecurityPageProps): View => html`
  <${Section} layout="side" title="Password" description=${
    hasPassword
      ? 'A new one signs you out everywhere else.'
      : 'To set a first password, you need a sign-in of the last ten minutes. It signs you out everywhere else.'
  }>
    <${Card}>
      <${Form} action="/settings/password" submit=${hasPassword ? 'Change password' : 'Set a password'} error=${passwordProblem?.message}>
        <${UserName} email=${email} />
        ${
          hasPassword &&
          html`<${Field} label="Current password" name="current" type="password" required autocomplete="current-password"
            error=${passwordProblem?.fields.current} />`
        }
        <${Field} label="New password" name="password" type="password" required minlength=${minLength}
          autocomplete="new-password" hint=${`At least ${minLength} characters; a few words in a row are fine.`}
          error=${passwordProblem?.fields.password} />
      <//>
    <//>
  <//>`

const Passkeys = ({ passkeys, passkeysPossible: possible, boundElsewhere }: SecurityPageProps): View => html`
  <${Section} layout="side" title="Passkeys"
    description="Sign in with the fingerprint, face or PIN of your device. To add one, you need a sign-in of the last ten minutes.">
    ${!possible && html`<${Card}><p>Browsers support passkeys only on https, at an address with a name. This platform has no such address.</p><//>`}
    ${possible && passkeys.length === 0 && html`<noscript><${Card}><p>A browser with scripts and a safe address (https, or this machine) can add one.</p><//></noscript>`}
    ${
      passkeys.length > 0 &&
      html`<${Table} ...${{
        caption: 'Passkeys',
        rows: passkeys,
        columns: [
          { label: 'Passkey', cell: (passkey: Passkey) => PasskeyName(passkey, boundElsewhere(passkey)) },
          { label: 'Last used', cell: ({ lastUsedAt }: Passkey) => html`<${Timestamp} at=${lastUsedAt} />` },
          {
            label: 'Actions',
            action: true,
            cell: ({ id, label }: Passkey) => html`<form action="/settings/passkeys/remove" method="post">
            <input type="hidden" name="id" value=${id} /><${Button} small label=${`Remove ${label}`}>Remove<//></form>`,
          },
        ],
      }} />`
    }
    ${
      possible &&
      html`<div hidden data-passkeys-unsupported><${Card}><p>This browser has no passkeys.</p><//></div>
      <div hidden data-passkey-add>
        <${Card}>
          <div class="form">
            <${Field} label="Name" name="label" value="This device" maxlength=${60} autocomplete="off" />
            <p class="field-error" role="alert" hidden data-passkey-trouble></p>
            <div class="form-actions"><${Button} type="button">Add a passkey<//></div>
          </div>
        <//>
      </div>`
    }
  <//>`

const PasskeyName = ({ label }: Passkey, host: string | null): View | string =>
  host === null
    ? label
    : html`${label} <span class="soft">works only at ${host}, where it was made; add one here</span>`

const Accounts = ({ providers, accounts }: SecurityPageProps): View => html`
  <${Section} layout="side" title="Other accounts" description="Accounts of other services that sign you in here.">
    <${Table} ...${{
      caption: 'Connected accounts',
      rows: accounts,
      columns: [
        {
          label: 'Account',
          cell: ({ provider, label }: UpstreamAccount) =>
            html`${providers.find(({ name }) => name === provider)?.label ?? provider} <span class="soft">${label}</span>`,
        },
        { label: 'Last used', cell: ({ lastUsedAt }: UpstreamAccount) => html`<${Timestamp} at=${lastUsedAt} />` },
        {
          label: 'Actions',
          action: true,
          cell: ({
            provider,
            subject,
            label,
          }: UpstreamAccount) => html`<form action="/settings/accounts/disconnect" method="post">
            <input type="hidden" name="provider" value=${provider} /><input type="hidden" name="subject" value=${subject} />
            <${Button} small label=${`Disconnect ${label}`}>Disconnect<//></form>`,
        },
      ],
      empty: html`<${EmptyState} title="None is connected">Connect one, and its button on the sign-in page lets you in.<//>`,
    }} />
    <div class="row">${providers.map(
      ({ name, label }) =>
        html`<${Button} href=${`/sign-in/with/${name}?returnTo=/settings/security`}>Connect ${label}<//>`,
    )}</div>
  <//>`

function Sessions({ sessions, currentSession }: SecurityPageProps): View {
  return Table<SessionEntry>({
    caption: 'Browsers that are signed in',
    rows: sessions,
    columns: [
      { label: 'Browser', cell: (session) => browserName(session.userAgent) },
      { label: 'Last visit', cell: (session) => html`<${Timestamp} at=${session.lastSeenAt} />` },
      {
        label: 'Actions',
        action: true,
        cell: (session) =>
          session.id === currentSession
            ? html`<${Chip}>this one<//>`
            : html`<form action=${`/settings/sessions/${session.id}/revoke`} method="post">
                <${Button} small label=${`Sign out ${browserName(session.userAgent)}`}>Sign out<//>
              </form>`,
      },
    ],
  })
}
