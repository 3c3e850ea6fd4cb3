import { Button, Card, Field, Form, html, Note, Notice, type View } from '../../../core/pages/index.ts'
import type { Legal } from '../../../core/pages/legal.ts'
import type { FormProblem } from '../form-problems.ts'
import type { ProviderChoice } from '../upstream/providers.ts'

type Documents = Pick<Legal, 'terms' | 'privacy'>

interface AccountFormProps {
  siteName: string
  returnTo: string
  signUpIsOpen: boolean
  /** Whether the server has no administrator yet. */
  awaitsHost: boolean
  email?: string | undefined
  problem?: FormProblem | undefined
}

/** The address of another page of the sign-in, with the same return address. */
export const other = (path: string, returnTo: string): string =>
  returnTo === '/' ? path : `${path}?returnTo=${encodeURIComponent(returnTo)}`

/** Explains the page to a player on the way into a game, who did not expect it. */
const reason = (returnTo: string, otherwise: string): string =>
  returnTo.startsWith('/oauth/authorize') ? 'One account for every game here. Then you go on to yours.' : otherwise

/** Whether a player comes to connect an account elsewhere, whose address an account here has. */
const connects = (returnTo: string): boolean => returnTo.startsWith('/connect/')

/** Warns the administrator of a new server, because this form would create a regular player. */
const FirstHost = (): View => html`
  <${Notice} title="Is this server yours?">Open the set-up link that it printed at its start, to become its administrator. This form creates a player’s account.<//>`

interface SignInProps extends AccountFormProps {
  /** Whether somebody is signed in, for too long for what they want to do. */
  again?: boolean
  providers: ProviderChoice[]
  /** Whether browsers support passkeys at this portal. */
  passkeys: boolean
  /** Former hosts with passkeys that browsers do not offer here. */
  passkeyHosts: string[]
  guests: boolean
  /** Whether guests need a proof of work. */
  needsWork: boolean
  guestName?: string | undefined
  guestProblem?: FormProblem | undefined
  /** The terms that an account made on this page accepts: by a provider, or a guest's. */
  legal: Documents
}

export const SignInPage = (props: SignInProps): View => {
  const { siteName, returnTo, signUpIsOpen, awaitsHost, email, problem, legal } = props
  const guests = props.guests && !connects(returnTo)
  const creates = guests || (signUpIsOpen && props.providers.length > 0)
  return html`
    <div class="stack">
      <header class="page-header">
        <h1>Welcome back</h1>
        <p class="lede">${
          connects(returnTo)
            ? 'You have an account here with this email address. Sign in to it as before; then you can connect the other one.'
            : props.again
              ? 'This step needs a sign-in of the last ten minutes. Sign in again, and you come back to it.'
              : reason(returnTo, `Sign in to ${siteName}.`)
        }</p>
      </header>
      ${awaitsHost && html`<${FirstHost} />`}
      <${Form} action="/sign-in" error=${problem?.message} submit="Sign in">
        <input type="hidden" name="returnTo" value=${returnTo} />
        <${Field} label="Email" name="email" type="email" value=${email} required autocomplete="username webauthn"
          autofocus=${!email && !props.guestProblem} error=${problem?.fields.email} />
        <${Field} label="Password" name="password" type="password" required autocomplete="current-password"
          autofocus=${Boolean(email)} error=${problem?.fields.password} />
      <//>
      <${Note} ends>
        <a href=${other('/reset-password', returnTo)}>Forgot your password?</a>
        ${signUpIsOpen && html`<a href=${other('/sign-up', returnTo)}>New here? Sign up</a>`}
      <//>
      <${OtherWays} ...${props} />
      ${guests && html`<${GuestCard} ...${props} />`}
      ${creates && html`<${Consent} ...${legal} act=${guests ? 'creating an account or playing as a guest' : undefined} />`}
    </div>`
}

/**
 * Passkeys appear in a reserved place where the browser supports them. A provider is a link, so that it works without a
 * script.
 */
const OtherWays = ({ providers, passkeys, passkeyHosts, returnTo }: SignInProps): View => html`
  <div class="other-ways">
    ${passkeys && html`<span data-passkey-sign-in data-return-to=${returnTo} hidden><${Button} type="button">Use a passkey<//></span>`}
    ${providers.map(
      ({ name, label }) => html`<${Button} href=${other(`/sign-in/with/${name}`, returnTo)}>Continue with ${label}<//>`,
    )}
    <p class="field-error" role="alert" hidden data-passkey-trouble></p>
  </div>
  ${
    passkeyHosts.length > 0 &&
    html`<${Note}>A passkey made at ${passkeyHosts.join(' or ')} works only there: browsers tie it to the name. Use your
      password, or <a href=${other('/reset-password', returnTo)}>set one by mail</a>, then add a passkey here in your settings.<//>`
  }`

const GuestCard = ({ returnTo, guestName, guestProblem, needsWork }: SignInProps): View => html`
  <${Card} title="Just playing?" description="A name is enough. You can turn it into an account later and keep your progress.">
    <${Form} action="/guest" submit="Play as a guest" kind="plain" error=${guestProblem?.message}>
      <input type="hidden" name="returnTo" value=${returnTo} />
      <${Field} label="Name" name="name" id="guest-name" value=${guestName} required maxlength=${60}
        autocomplete="nickname" autofocus=${guestProblem !== undefined} error=${guestProblem?.fields.name} />
      ${needsWork && html`<${ProofOfWork} />`}
    <//>
  <//>`

interface SignUpProps extends AccountFormProps {
  name?: string | undefined
  minLength: number
  /** Whether an invitation makes an account where sign-up is not open. */
  invites: boolean
  /** What was entered for an invitation. */
  typed?: string | undefined
  /** Whether a new account needs a proof of work. */
  needsWork: boolean
  /** The terms that a new account accepts. */
  legal: Documents
  providers: ProviderChoice[]
  /** The target of the form, if it is not the open sign-up. */
  action?: string
  title?: string
  lede?: string
}

export function SignUpPage(props: SignUpProps): View {
  const { siteName, returnTo, signUpIsOpen, awaitsHost, minLength, email, name, problem, providers } = props
  const { action = '/sign-up', title = 'Come into the yard' } = props
  const lede = props.lede ?? reason(returnTo, `One account for every game on ${siteName}, and for making your own.`)
  if (!signUpIsOpen) {
    return html`
      <div class="stack">
        <header class="page-header">
          <h1>${props.invites ? 'By invitation' : 'No new accounts'}</h1>
          <p class="lede">${props.invites ? `Accounts on ${siteName} are created by invitation. Ask for one.` : 'This server takes no new accounts.'}</p>
        </header>
        ${awaitsHost && html`<${FirstHost} />`}
        ${
          props.invites &&
          html`<${Form} action="/sign-up" submit="Use the invitation"
            beside=${html`<${Button} kind="quiet" href=${other('/sign-in', returnTo)}>Have an account? Sign in<//>`}>
            <input type="hidden" name="returnTo" value=${returnTo} />
            <${Field} label="Link or code of your invitation" name="invitation" value=${props.typed} required autocomplete="off" error=${problem?.message}
              hint="Paste the link, or type the code, such as BCDF-GHJK-LMNP. You then go on from where you are." />
          <//>`
        }
        ${!props.invites && html`<div class="row"><${Button} kind="act" href=${other('/sign-in', returnTo)}>Sign in instead<//></div>`}
      </div>`
  }
  return html`
    <div class="stack">
      <header class="page-header"><h1>${title}</h1><p class="lede">${lede}</p></header>
      ${awaitsHost && html`<${FirstHost} />`}
      <${Form} action=${action} error=${problem?.message} submit="Create account"
        beside=${html`<${Button} kind="quiet" href=${other('/sign-in', returnTo)}>Have one? Sign in<//>`}>
        <input type="hidden" name="returnTo" value=${returnTo} />
        <${AccountFields} ...${{ name, email, minLength, problem }} />
        ${props.needsWork && html`<${ProofOfWork} />`}
        <${Consent} ...${props.legal} />
      <//>
      ${
        providers.length > 0 &&
        html`<div class="other-ways">${providers.map(
          (provider) =>
            html`<${Button} href=${other(`/sign-in/with/${provider.name}`, returnTo)}>Continue with ${provider.label}<//>`,
        )}</div>`
      }
    </div>`
}

/** Says which documents a new account accepts, if the operator has any. */
const Consent = ({ terms, privacy, act = 'creating an account' }: Documents & { act?: string }): View | null => {
  const documents = [
    terms && html`<a href=${terms} target="_blank">terms</a>`,
    privacy && html`<a href=${privacy} target="_blank">privacy notice</a>`,
  ].filter(Boolean)
  if (documents.length === 0) return null
  return html`<${Note}>By ${act} you accept the ${documents[0]}${documents[1] && html` and the ${documents[1]}`}.<//>`
}

/** The field that the script of the page fills in, and the line that announces it. */
export const ProofOfWork = (): View => html`
  <input type="hidden" name="work" data-work />
  <p class="soft" role="status" data-work-status></p>
  <noscript><${Notice} tone="error" title="This needs JavaScript">Your browser computes for a second, so that nobody makes
    accounts in bulk. Turn JavaScript on, or ask the people who run this platform for an invitation.<//></noscript>`

interface AccountFieldsProps {
  name?: string | undefined
  email?: string | undefined
  minLength: number
  problem?: FormProblem | undefined
}

/** The fields of every new account. The first field with an error gets the focus, or else the first field. */
export const AccountFields = ({ name, email, minLength, problem }: AccountFieldsProps): View => {
  const first = ['name', 'email', 'password'].find((field) => problem?.fields[field]) ?? 'name'
  return html`
    <${Field} label="Name" name="name" value=${name} required maxlength=${60} autocomplete="nickname"
      hint="Other players see it. You can change it later." autofocus=${first === 'name'} error=${problem?.fields.name} />
    <${Field} label="Email" name="email" type="email" value=${email} required autocomplete="username"
      hint="You sign in with it. Games don't see it unless you say so." autofocus=${first === 'email'}
      error=${problem?.fields.email} />
    <${NewPasswordField} minLength=${minLength} autofocus=${first === 'password'} error=${problem?.fields.password} />`
}

/** Tells password managers whose password a form changes. It is not sent. */
export const UserName = ({ email }: { email: string | null }): View =>
  html`${email && html`<input type="email" value=${email} autocomplete="username" readonly hidden />`}`

interface NewPasswordFieldProps {
  minLength: number
  autofocus?: boolean
  error?: string | undefined
}

export const NewPasswordField = ({ minLength, autofocus = false, error }: NewPasswordFieldProps): View => html`
  <${Field} label="Password" name="password" type="password" required minlength=${minLength}
    autocomplete="new-password" autofocus=${autofocus}
    hint=${`At least ${minLength} characters; a few words in a row are fine.`} error=${error} />`
