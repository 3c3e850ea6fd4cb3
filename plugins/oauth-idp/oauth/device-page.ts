import { Button, DescriptionList, Field, Form, html, Row, type View } from '../../../core/pages/index.ts'
import { scopeWords } from './consent-page.ts'

/** The page on which a player enters the code that a device shows. */
export const DeviceCodePage = ({
  error,
  code,
}: {
  error?: string | undefined
  code?: string | undefined
}): View => html`
  <div class="stack">
    <header class="page-header">
      <h1>Sign a device in</h1>
      <p class="lede">Enter the code that it shows.</p>
    </header>
    <${Form} action="/oauth/device" method="get" submit="Go on">
      <${Field} label="Code" name="user_code" value=${code} required mono autofocus autocomplete="one-time-code"
        placeholder="BCDF-GHJK" maxlength=${20} error=${error} />
    <//>
  </div>`

interface DeviceApprovalProps {
  clientName: string
  label: string
  machine: string
  userCode: string
  playerName: string
  /** Null for a program of the platform itself, which has all the player's rights. */
  scope: string[] | null
}

/** Asks for approval, with all that distinguishes the player's own device from another's (RFC 8628 section 5.4). */
export const DeviceApprovalPage = (props: DeviceApprovalProps): View => html`
  <div class="stack">
    <header class="page-header">
      <h1>Is this your device?</h1>
      <p class="lede">${props.clientName} wants to sign in as <strong>${props.playerName}</strong>.
        Allow it only if you started this yourself, just now, and the code is the one it shows.</p>
    </header>
    <div class="card">
      <${DescriptionList} items=${[
        { term: 'Code', detail: html`<strong class="mono">${props.userCode}</strong>` },
        { term: 'Name', detail: props.label },
        ...(props.machine ? [{ term: 'Machine', detail: props.machine }] : []),
        {
          term: 'It can',
          detail: props.scope ? scopeWords(props.scope) : 'do everything on this platform that you can',
        },
      ]} />
    </div>
    <${Form} action="/oauth/device">
      <input type="hidden" name="user_code" value=${props.userCode} />
      <${Row}>
        <${Button} kind="act" name="decision" value="allow">Allow<//>
        <${Button} name="decision" value="deny">Deny<//>
      <//>
    <//>
    <p class="hint">You can revoke it at any time in your settings.</p>
  </div>`

export const DeviceDonePage = ({ approved }: { approved: boolean }): View => html`
  <div class="stack">
    <header class="page-header">
      <h1>${approved ? 'The device is signed in' : 'The device stays outside'}</h1>
      <p class="lede">
        ${approved ? 'Go back to it. It continues automatically in a few seconds.' : 'It was given nothing.'} You can close this page.
      </p>
    </header>
  </div>`
