import { Button, Card, Field, Form, html, Note, Notice, type View } from '../../../core/pages.ts'
import type { FormTrouble } from '../forms.ts'
import type { ProviderChoice } from '../upstream/providers.ts'

interface AccountFormProps {
  siteName: string
  returnTo: string
  signUpIsOpen: boolean
  /** Nobody runs this server yet. */
  awaitsHost: boolean
  email?: string | undefined
  trouble?: FormTrouble | undefined
}

/** The way to the other of the two pages, with what was asked for. */
const other = (path: string, returnTo: string): string =>
  returnTo === '/' ? path : `${path}?returnTo=${encodeURIComponent(returnTo)}`

/** Somebody on the way into a game is told so: the page they expected is not this one. */
const reason = (returnTo: string, otherwise: string): string =>
  returnTo.startsWith('/oauth/authorize') ? 'One account for every game here. Then you go on to yours.' : otherwise

/** Whoever has just started a server may look for the way in here, and would become a player like any other. */
const FirstHost = (): View => html`
  <${Notice} title="Is this server yours?">Open the set-up link that it printed when it started; it makes you its administrator. An account made here is a player’s.<//>`

interface SignInProps extends AccountFormProps {
  providers: ProviderChoice[]
  /** Whether browsers have passkeys here at all. */
  passkeys: boolean
  guests: boolean
  guestName?: string | undefined
  guestTrouble?: FormTrouble | undefined
}

export const SignInPage = (props: SignInProps): View => {
  const { siteName, returnTo, signUpIsOpen, awaitsHost, email, trouble } = props
  return html`
    <div class="stack">
      <header class="page-header">
        <h1>Welcome back</h1>
        <p class="lede">${reason(returnTo, `Sign in to ${siteName}.`)}</p>
      </header>
      ${awaitsHost && html`<${FirstHost} />`}
      <${Form} action="/sign-in" error=${trouble?.message} submit="Sign in">
        <input type="hidden" name="returnTo" value=${returnTo} />
        <${Field} label="Email" name="email" type="email" value=${email} required autocomplete="username webauthn"
          autofocus=${!email && !props.guestTrouble} error=${trouble?.fields.email} />
        <${Field} label="Password" name="password" type="password" required autocomplete="current-password"
          autofocus=${Boolean(email)} error=${trouble?.fields.password} />
      <//>
      <${Note} ends>
        <a href="/reset-password">Forgot your password?</a>
        ${signUpIsOpen && html`<a href=${other('/sign-up', returnTo)}>New here? Sign up</a>`}
      <//>
      <${OtherWays} ...${props} />
      ${props.guests && html`<${GuestCard} ...${props} />`}
    </div>`
}

/**
 * Passkeys show themselves where the browser has them, in the place that is kept for them; a provider is a link, so that
 * it works without a script.
 */
const OtherWays = ({ providers, passkeys, returnTo }: SignInProps): View => html`
  <div class="other-ways">
    ${passkeys && html`<span data-passkey-sign-in data-return-to=${returnTo} hidden><${Button} type="button">Use a passkey<//></span>`}
    ${providers.map(
      ({ name, label }) => html`<${Button} href=${other(`/sign-in/with/${name}`, returnTo)}>Continue with ${label}<//>`,
    )}
    <p class="field-error" role="alert" hidden data-passkey-trouble></p>
  </div>`

const GuestCard = ({ returnTo, guestName, guestTrouble }: SignInProps): View => html`
  <${Card} title="Just playing?" description="A name is enough. You can make it an account later and keep what you won.">
    <${Form} action="/guest" submit="Play as a guest" kind="plain" error=${guestTrouble?.message}>
      <input type="hidden" name="returnTo" value=${returnTo} />
      <${Field} label="Name" name="name" id="guest-name" value=${guestName} required maxlength=${60}
        autocomplete="nickname" autofocus=${guestTrouble !== undefined} error=${guestTrouble?.fields.name} />
    <//>
  <//>`

interface SignUpProps extends AccountFormProps {
  name?: string | undefined
  minLength: number
  providers: ProviderChoice[]
  /** Where the form goes, when it is not the open sign-up. */
  action?: string
  title?: string
  lede?: string
}

export function SignUpPage(props: SignUpProps): View {
  const { siteName, returnTo, signUpIsOpen, awaitsHost, minLength, email, name, trouble, providers } = props
  const { action = '/sign-up', title = 'Come into the yard' } = props
  const lede = props.lede ?? reason(returnTo, `One account for every game on ${siteName}, and for making your own.`)
  if (!signUpIsOpen) {
    return html`
      <div class="stack">
        <header class="page-header">
          <h1>By invitation</h1>
          <p class="lede">Accounts on ${siteName} are made by whoever runs it. Ask them for one.</p>
        </header>
        ${awaitsHost && html`<${FirstHost} />`}
        <div class="row"><${Button} kind="act" href=${other('/sign-in', returnTo)}>Sign in instead<//></div>
      </div>`
  }
  return html`
    <div class="stack">
      <header class="page-header"><h1>${title}</h1><p class="lede">${lede}</p></header>
      ${awaitsHost && html`<${FirstHost} />`}
      <${Form} action=${action} error=${trouble?.message} submit="Create account"
        beside=${html`<${Button} kind="quiet" href=${other('/sign-in', returnTo)}>Have one? Sign in<//>`}>
        <input type="hidden" name="returnTo" value=${returnTo} />
        <${AccountFields} ...${{ name, email, minLength, trouble }} />
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

interface AccountFieldsProps {
  name?: string | undefined
  email?: string | undefined
  minLength: number
  trouble?: FormTrouble | undefined
}

/** What every new account starts with. What is to be mended first, or else comes first, is where one types. */
export const AccountFields = ({ name, email, minLength, trouble }: AccountFieldsProps): View => {
  const first = ['name', 'email', 'password'].find((field) => trouble?.fields[field]) ?? 'name'
  return html`
    <${Field} label="Name" name="name" value=${name} required maxlength=${60} autocomplete="nickname"
      hint="What other players see. You can change it later." autofocus=${first === 'name'} error=${trouble?.fields.name} />
    <${Field} label="Email" name="email" type="email" value=${email} required autocomplete="username"
      hint="You sign in with it. Games don't see it unless you say so." autofocus=${first === 'email'}
      error=${trouble?.fields.email} />
    <${NewPasswordField} minLength=${minLength} autofocus=${first === 'password'} error=${trouble?.fields.password} />`
}

interface NewPasswordFieldProps {
  minLength: number
  autofocus?: boolean
  error?: string | undefined
}

export const NewPasswordField = ({ minLength, autofocus = false, error }: NewPasswordFieldProps): View => html`
  <${Field} label="Password" name="password" type="password" required minlength=${minLength}
    autocomplete="new-password" autofocus=${autofocus}
    hint=${`At least ${minLength} characters; a few words in a row are fine.`} error=${error} />`
