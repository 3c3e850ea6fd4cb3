import { setBusy } from '../../../core/pages/islands/busy-button.ts'

/**
 * Finds the proof of work of a sign-up form (players/sign-up-challenge.ts), in the background while the person fills in
 * the form. Web Crypto computes in threads of its own, so the page stays responsive.
 */
interface Challenge {
  salt: string
  target: string
  iterations: number
  answers: number
  token: string
}

/** Attempts at a time. Browsers spread them over the processor's cores. */
const AT_ONCE = 4
/** A proof is renewed before it expires, which leaves time for the request. */
const FRESH_MS = 8 * 60_000

const bytesOf = (text: string) =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0))

async function findProof(): Promise<string> {
  const response = await fetch('/api/auth/sign-up/challenge')
  const body = await response.json()
  if (!response.ok) throw new Error(body.error.message)
  const { salt, target, iterations, answers, token } = body.challenge as Challenge
  const wanted = bytesOf(target)
  const algorithm = { name: 'PBKDF2', hash: 'SHA-256', salt: bytesOf(salt), iterations }
  let next = 0
  let found: number | null = null
  const search = async () => {
    while (found === null && next < answers) {
      const answer = next++
      const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(String(answer)), 'PBKDF2', false, [
        'deriveBits',
      ])
      const bits = new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, wanted.length * 8))
      if (bits.every((byte, index) => byte === wanted[index])) found = answer
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, search))
  if (found === null) throw new Error('The check of your browser found no answer. Try again.')
  return `${token}.${found}`
}

function install(field: HTMLInputElement): void {
  const { form } = field
  const status = form?.querySelector<HTMLElement>('[data-work-status]')
  if (!form || !status) return
  let proof: Promise<string> | null = null
  let startedAt = 0
  const work = () => {
    if (!proof || Date.now() - startedAt > FRESH_MS) {
      startedAt = Date.now()
      proof = findProof()
      // The error is shown when the form is sent.
      proof.catch(() => {})
    }
    return proof
  }
  form.addEventListener('focusin', () => void work())
  if (form.contains(document.activeElement)) void work()
  form.addEventListener('submit', async (event) => {
    if (field.value) return
    event.preventDefault()
    const button = form.querySelector<HTMLButtonElement>('button:not([type=button])')
    if (button) setBusy(button, true)
    status.setAttribute('role', 'status')
    status.textContent = 'Checking your browser. This takes a moment.'
    try {
      field.value = await work()
      // A form ignores a request to submit while its submit event is being dispatched, which a finished proof is in time for.
      await new Promise((resolve) => setTimeout(resolve))
      status.textContent = 'Done.'
      if (button) setBusy(button, false)
      form.requestSubmit(button)
    } catch (error) {
      status.setAttribute('role', 'alert')
      status.textContent = (error as Error).message
      proof = null
      if (button) setBusy(button, false)
    }
  })
  // A page from the history of the browser has a proof that was used.
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return
    field.value = ''
    proof = null
  })
}

for (const field of document.querySelectorAll<HTMLInputElement>('input[data-work]')) install(field)
