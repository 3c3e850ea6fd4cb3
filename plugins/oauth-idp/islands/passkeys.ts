import { browserSupportsWebAuthn, startAuthentication, startRegistration } from '@simplewebauthn/browser'

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
    button.disabled = true
    try {
      await act(holder)
    } catch (error) {
      say(problem, error)
    } finally {
      button.disabled = false
    }
  })
}

onPress('[data-passkey-sign-in]', async (holder) => {
  const optionsJSON = await post('/api/auth/passkeys/sign-in/options')
  await post('/api/auth/passkeys/sign-in', { response: await startAuthentication({ optionsJSON }) })
  location.assign(holder.dataset.returnTo ?? '/')
})

onPress('[data-passkey-add]', async (holder) => {
  const label = holder.querySelector('input')?.value.trim() || 'Passkey'
  const optionsJSON = await post('/api/auth/passkeys/options')
  await post('/api/auth/passkeys', { label, response: await startRegistration({ optionsJSON }) })
  location.assign('/settings/security?done=passkey')
})
