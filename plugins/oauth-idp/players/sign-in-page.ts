import { Button, Field, Form, html, type View } from '../../../core/pages.ts'
import type { FormTrouble } from '../forms.ts'

interface AccountFormProps {
  siteName: string
  returnTo: string
  signUpIsOpen: boolean
  email?: string | undefined
  trouble?: FormTrouble | undefined
}

/** The way to the other of the two pages, with what was asked for. */
const other = (path: string, returnTo: string): string =>
  returnTo === '/' ? path : `${path}?returnTo=${encodeURIComponent(returnTo)}`

/** Somebody on the way into a game is told so: the page they expected is not this one. */
const reason = (returnTo: string, otherwise: string): string =>
  returnTo.startsWith('/oauth/authorize') ? 'One account for every game here. Then you go on to yours.' : otherwise

export const SignInPage = ({ siteName, returnTo, signUpIsOpen, email, trouble }: AccountFormProps): View => html`
  <div class="stack">
    <header class="page-header">
      <h1>Welcome back</h1>
      <p class="lede">${reason(returnTo, `Sign in to ${siteName}.`)}</p>
    </header>
    <${Form} action="/sign-in" error=${trouble?.message} submit="Sign in"
      beside=${signUpIsOpen && html`<${Button} kind="quiet" href=${other('/sign-up', returnTo)}>New here? Sign up<//>`}>
      <input type="hidden" name="returnTo" value=${returnTo} />
      <${Field} label="Email" name="email" type="email" value=${email} required autocomplete="username"
        autofocus=${!email} error=${trouble?.fields.email} />
      <${Field} label="Password" name="password" type="password" required autocomplete="current-password"
        autofocus=${Boolean(email)} error=${trouble?.fields.password} />
    <//>
  </div>`

interface SignUpProps extends AccountFormProps {
  name?: string | undefined
  minLength: number
}

export function SignUpPage({ siteName, returnTo, signUpIsOpen, minLength, email, name, trouble }: SignUpProps): View {
  if (!signUpIsOpen) {
    return html`
      <div class="stack">
        <header class="page-header">
          <h1>By invitation</h1>
          <p class="lede">Accounts on ${siteName} are made by whoever runs it. Ask them for one.</p>
        </header>
        <div class="row"><${Button} kind="act" href=${other('/sign-in', returnTo)}>Sign in instead<//></div>
      </div>`
  }
  return html`
    <div class="stack">
      <header class="page-header">
        <h1>Come into the yard</h1>
        <p class="lede">${reason(returnTo, `One account for every game on ${siteName}, and for making your own.`)}</p>
      </header>
      <${Form} action="/sign-up" error=${trouble?.message} submit="Create account"
        beside=${html`<${Button} kind="quiet" href=${other('/sign-in', returnTo)}>Have one? Sign in<//>`}>
        <input type="hidden" name="returnTo" value=${returnTo} />
        <${AccountFields} ...${{ name, email, minLength, trouble }} />
      <//>
    </div>`
}

interface AccountFieldsProps {
  name?: string | undefined
  email?: string | undefined
  minLength: number
  trouble?: FormTrouble | undefined
}

/** What every new account starts with. */
export const AccountFields = ({ name, email, minLength, trouble }: AccountFieldsProps): View => html`
  <${Field} label="Name" name="name" value=${name} required maxlength=${60} autocomplete="nickname" autofocus
    hint="What other players see. You can change it later." error=${trouble?.fields.name} />
  <${Field} label="Email" name="email" type="email" value=${email} required autocomplete="username"
    hint="You sign in with it. Games don't see it unless you say so." error=${trouble?.fields.email} />
  <${Field} label="Password" name="password" type="password" required minlength=${minLength} autocomplete="new-password"
    hint=${`At least ${minLength} characters; a few words in a row are fine.`} error=${trouble?.fields.password} />`
