/** Whether a request comes from a browser that will show the answer, and not from a script. */
export const showsPages = (headers: Headers): boolean => /\btext\/html\b/.test(headers.get('accept') ?? '')

/** Whether a browser or a framework fetches an address that the player has not followed yet. */
export const isPrefetch = (headers: Headers): boolean =>
  /\bprefetch\b/.test(`${headers.get('sec-purpose') ?? ''} ${headers.get('purpose') ?? ''}`) ||
  headers.get('next-router-prefetch') !== null

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)

/**
 * The page of a sign-in that failed, with the ways on. It needs no script, and nothing from elsewhere.
 *
 * @param path below which the game is at its origin
 */
export const signInFailedPage = (message: string, path: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign-in failed</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
  main { max-width: 32rem; margin: 15vh auto; padding: 0 1.5rem }
  h1 { font-size: 1.5rem; line-height: 1.25 }
  a { display: inline-block; margin: 0 1.5rem 0 0; padding: .5rem 0 }
</style>
<main>
  <h1>Sign-in failed</h1>
  <p>${escapeHtml(message)}</p>
  <p><a href="${escapeHtml(path)}/auth/service/start">Sign in again</a><a href="${escapeHtml(path)}/">Play without signing in</a></p>
</main>
</html>
`
