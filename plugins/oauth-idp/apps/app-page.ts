import type { FastifyInstance } from 'fastify'
import {
  Card,
  Checkbox,
  Confirm,
  CopyValue,
  DescriptionList,
  Form,
  html,
  Notice,
  PageHeader,
  Section,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { appFields } from './app-form.ts'
import { APPS, kindOf, pathOfApp } from './apps-page.ts'
import type { App } from './schemas.ts'

const CRUMBS = [{ label: 'OAuth applications', href: APPS }]

/** The form that registers an application. */
export const NewAppPage = (): View => html`
  <${PageHeader} title="New application" crumbs=${CRUMBS} lede=${html`For a game or a website on a server of your own, or a program. <a href="/docs/sign-in">Guide</a>`} />
  <${Form} action=${`${APPS}/new`} submit="Register the application">${appFields(null)}<//>`

interface AppPageProps {
  app: App
  /** The number of sign-ins in the last 30 days. */
  signIns: number
  /** The secret that was just made, which is shown once. */
  newSecret: string | null
}

/** Shows an application to its owner, who changes it there. */
export function appPage(
  { origins }: Pick<FastifyInstance, 'origins'>,
  { app, signIns, newSecret }: AppPageProps,
): View {
  const { portal } = origins
  const path = pathOfApp(app)
  const facts = [
    { term: 'Client id', detail: html`<${CopyValue} value=${app.clientId} label="client id" />` },
    {
      term: 'Discovery',
      detail: html`<${CopyValue} value=${`${portal}/.well-known/openid-configuration`} label="address of the metadata" />`,
    },
    {
      term: 'Authorize',
      detail: html`<${CopyValue} value=${`${portal}/oauth/authorize`} label="authorization endpoint" />`,
    },
    { term: 'Token', detail: html`<${CopyValue} value=${`${portal}/api/oauth/token`} label="token endpoint" />` },
    { term: 'User', detail: html`<${CopyValue} value=${`${portal}/api/oauth/userinfo`} label="userinfo endpoint" />` },
    { term: 'Sign-ins', detail: `${new Intl.NumberFormat('en').format(signIns)} in the last 30 days` },
    { term: 'Last used', detail: html`<${Timestamp} at=${app.lastUsedAt} />` },
  ]
  return html`
    <${PageHeader} title=${app.name} crumbs=${CRUMBS} chips=${kindOf(app)} />
    ${
      newSecret &&
      html`<div data-result><${Card}>
        <${Notice} tone="success" title="The client secret">Copy it now, and keep it on your server. It is shown only this once.<//>
        <${CopyValue} value=${newSecret} label="client secret" />
      <//></div>`
    }
    <${Section} layout="side" title="For its code" description=${html`Any library for OAuth 2.0 or OpenID Connect works. <a href="/docs/sign-in">Guide</a>`}>
      <${Card}><${DescriptionList} items=${facts} /><//>
    <//>
    <${Section} layout="side" title="The application">
      <${Card}><${Form} action=${path} submit="Save" kind=${newSecret ? 'plain' : 'act'}>${appFields(app)}<//><//>
    <//>
    ${
      !app.public &&
      html`<${Section} layout="side" title="Client secret" description="The server stores only a hash of it, so it can't be shown again.">
        <${Card}><${Confirm} label="Create a new client secret" action=${`${path}/secret`} kind="plain">
          <p>The old secret and all sign-ins through it end at once, unless you keep it for a day.</p>
          <${Checkbox} name="keep" label="Keep the old secret for a day" />
        <//><//>
      <//>`
    }
    ${
      app.gameId === null &&
      html`<${Section} layout="side" title="Delete">
        <${Card}><${Confirm} label="Delete the application" action=${`${path}/delete`} submit=${`Delete ${app.name}`}>
          <p>Nobody can sign in through it any more. All access that players gave it ends. This can't be undone.</p>
        <//><//>
      <//>`
    }`
}
