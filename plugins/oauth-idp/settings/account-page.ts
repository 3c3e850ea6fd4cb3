import { Button, Card, Chip, Field, Form, html, Section, Table, type View, When } from '../../../core/pages.ts'
import type { FormTrouble } from '../forms.ts'
import type { SessionEntry } from '../sessions/sessions.ts'
import { browserName } from './browser-name.ts'
import { type SettingsEntry, SettingsHeader } from './header.ts'

interface AccountPageProps {
  entries: SettingsEntry[]
  name: string
  email: string
  sessions: SessionEntry[]
  currentSession: string
  minLength: number
  nameTrouble?: FormTrouble | undefined
  passwordTrouble?: FormTrouble | undefined
}

export const AccountPage = (props: AccountPageProps): View => html`
  <${SettingsHeader} entries=${props.entries} current="/settings" />
  <${Section} layout="side" title="Profile" description=${`You sign in with ${props.email}.`}>
    <${Card}>
      <${Form} action="/settings/name" submit="Save" error=${props.nameTrouble?.message}>
        <${Field} label="Name" name="name" value=${props.name} required maxlength=${60} autocomplete="nickname"
          hint="What other players see." error=${props.nameTrouble?.fields.name} />
      <//>
    <//>
  <//>
  <${Section} layout="side" title="Password" description="A new one signs you out everywhere else.">
    <${Card}>
      <${Form} action="/settings/password" submit="Change password" kind="plain" error=${props.passwordTrouble?.message}>
        <${Field} label="Current password" name="current" type="password" required autocomplete="current-password"
          error=${props.passwordTrouble?.fields.current} />
        <${Field} label="New password" name="password" type="password" required minlength=${props.minLength}
          autocomplete="new-password" hint=${`At least ${props.minLength} characters; a few words in a row are fine.`}
          error=${props.passwordTrouble?.fields.password} />
      <//>
    <//>
  <//>
  <${Section} layout="side" title="Signed in" description="Browsers that can use your account. Sign out those you don't know.">
    <${Sessions} ...${props} />
  <//>`

function Sessions({ sessions, currentSession }: AccountPageProps): View {
  return Table<SessionEntry>({
    caption: 'Browsers that are signed in',
    rows: sessions,
    columns: [
      { label: 'Browser', cell: (session) => browserName(session.userAgent) },
      { label: 'Last visit', cell: (session) => html`<${When} at=${session.lastSeenAt} />` },
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
