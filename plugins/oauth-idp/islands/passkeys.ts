import {
  type AuthenticationResponseJSON,
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'
import { setBusy } from '../../../core/pages/islands/busy-button.ts'

// Passkeys require a script and a secure context. Otherwise the buttons stay hidden.
const supported = browserSupportsWebAuthn() && window.isSecureContext
const unsupported = document.querySelector<HTMLElement>('[data-passkeys-unsupported]')
if (unsupported && !supported) unsupported.hidden = false

async function post(path: string, body?: unknown) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error.message)
  return answer
}

/** Closing the browser's own dialog is not an error. */
function say(where: Element | null, error: unknown): void {
  if (!(where instanceof HTMLElement)) return
  const { name, message } = error as Error
  where.textContent = name === 'NotAllowedError' ? 'Nothing was chosen. Try again when you are ready.' : message
  where.hidden = false
}

function onPress(selector: string, act: (holder: HTMLElement) => Promise<void>): void {
  const holder = document.querySelector<HTMLElement>(selector)
  if (!supported) holder?.remove()
  if (!supported || !holder) return
  holder.hidden = false
  const button = holder.querySelector('button')
  button?.addEventListener('click', async () => {
    const problem = document.querySelector('[data-passkey-trouble]')
    if (problem instanceof HTMLElement) problem.hidden = true
    setBusy(button, true)
    try {
      await act(holder)
    } catch (error) {
      say(problem, error)
    } finally {
      setBusy(button, false)
    }
  })
}

const signInOptions = () => post('/api/auth/passkeys/sign-in/options')

async function finish(holder: HTMLElement, response: AuthenticationResponseJSON): Promise<void> {
  await post('/api/auth/passkeys/sign-in', { response })
  location.assign(holder.dataset.returnTo ?? '/')
}

let renewal: ReturnType<typeof setTimeout> | undefined
/** The number of the latest ceremony. A browser has one at a time, and a new one ends the one before it. */
let latest = 0

/**
 * Offers passkeys among the browser's suggestions for the email address, where it can. The offer is renewed before its
 * challenge expires, and after the button's ceremony has failed.
 */
async function offer(holder: HTMLElement): Promise<void> {
  if (!(await browserSupportsWebAuthnAutofill())) return
  clearTimeout(renewal)
  const mine = ++latest
  let response: AuthenticationResponseJSON
  try {
    const optionsJSON = await signInOptions()
    // The button was pressed meanwhile.
    if (mine !== latest) return
    renewal = setTimeout(() => offer(holder), optionsJSON.timeout * 0.8)
    response = await startAuthentication({ optionsJSON, useBrowserAutofill: true })
  } catch {
    // Nobody has asked for this offer. The button and the password remain.
    return
  }
  await finish(holder, response).catch((error) => say(document.querySelector('[data-passkey-trouble]'), error))
}

onPress('[data-passkey-sign-in]', async (holder) => {
  clearTimeout(renewal)
  latest++
  try {
    await finish(holder, await startAuthentication({ optionsJSON: await signInOptions() }))
  } catch (error) {
    void offer(holder)
    throw error
  }
})

const signIn = document.querySelector<HTMLElement>('[data-passkey-sign-in]')
if (supported && signIn) void offer(signIn)

onPress('[data-passkey-add]', async (holder) => {
  const label = holder.querySelector('input')?.value.trim() || 'Passkey'
  const optionsJSON = await post('/api/auth/passkeys/options')
  await post('/api/auth/passkeys', { label, response: await startRegistration({ optionsJSON }) })
  location.assign('/settings/security?done=passkey')
})
