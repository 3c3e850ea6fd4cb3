const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** Returns a path of this origin, or `/` for a value that a browser would read as another origin. */
const safePath = (path: string | null): string => (path && /^\/(?![/\\])/.test(path) ? path : '/')

/**
 * The page at `/auth/service/start` of a development server. A sign-in ends at the game's own origin, because the
 * portal redirects players to no other. Cookies ignore ports, so a session created there is valid here too when both
 * have the same host name. The page opens the sign-in in another tab and continues automatically.
 *
 * @param origin of the game
 */
export function signInPage(origin: string, { returnTo, shared }: { returnTo: string | null; shared: boolean }): string {
  const start = `${origin}/auth/service/start?returnTo=%2Fauth%2Fservice%2Fsession`
  const text = shared
    ? `<p>Sign in in the window that opens; the game here continues automatically.</p>
       <p><button id="open">Open the sign-in</button></p>`
    : `<p>Players sign in at <a href="${escapeHtml(origin)}">${escapeHtml(origin)}</a>. A browser keeps that session for that
       address, so the game at this one stays signed out.</p><p><a href="${escapeHtml(safePath(returnTo))}">Back to the game</a></p>`
  const script = `
    const start = ${JSON.stringify(start)}, back = ${JSON.stringify(safePath(returnTo)).replaceAll('<', '\\u003c')}
    let opened = null
    const open = () => { opened = window.open(start, 'gameyard-sign-in', 'width=480,height=720') }
    document.getElementById('open').addEventListener('click', open)
    open()
    setInterval(async () => {
      const { signedIn } = await fetch('/auth/service/session', { cache: 'no-store' }).then((answer) => answer.json())
      if (!signedIn) return
      opened?.close()
      location.replace(back)
    }, 700)`
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sign in</title>
<style>
  :root { color-scheme: light dark; font: 18px/1.5 system-ui, sans-serif }
  body { display: grid; place-content: center; min-height: 90vh; max-width: 32rem; margin: auto; padding: 1rem }
  button { font: inherit; padding: .5em 1em }
</style>
<main><h1>Sign in</h1>${text}</main>${shared ? `<script>${script}</script>` : ''}</html>
`
}
