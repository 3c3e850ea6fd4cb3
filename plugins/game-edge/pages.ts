import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'

/**
 * The platform's own pages on a game's origin. Their style is inline, because on this origin every path except the
 * reserved ones belongs to the game. The text has a fixed top and width: centred by its own size, it would move while a
 * slow browser still reads it.
 */
const STYLE = `:root{color-scheme:light dark;--paper:light-dark(#faf7f1,#14161b);--ink:light-dark(#1d1b16,#f1eee7);--soft:light-dark(#5e584c,#a9a79f);--act:light-dark(#c2410c,#ff8a4c);--on-act:light-dark(#fff,#1b0d04)}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 "Instrument Sans Variable",ui-sans-serif,system-ui,sans-serif}
main{box-sizing:border-box;max-width:34rem;margin:max(0px,50vh - 9rem) auto 0;padding:2rem 1.5rem}h1{font-size:clamp(1.7rem,1.2rem + 2.4vw,2.6rem);line-height:1.12;letter-spacing:-.02em;margin:0 0 .75rem;text-wrap:balance}
p{margin:0 0 1rem;color:var(--soft)}a{color:var(--act);text-underline-offset:.2em}
a.act{display:inline-block;margin-top:.5rem;padding:.7em 1.3em;border-radius:999px;background:var(--act);color:var(--on-act);font-weight:600;line-height:1.2;text-decoration:none}`

const POLICY = `default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'`

/** Without an icon, a browser requests one and reports the refusal. */
const NO_ICON = '<link rel="icon" href="data:,">'

/** @param head further elements of the head */
const document = (title: string, body: string, head = '') =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>${title}</title>${NO_ICON}<style>${STYLE}</style>${head}<main><h1>${title}</h1>${body}</main></html>`

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** The page for an unknown address and for a private game that the viewer may not see. Both look the same. */
export const noGamePage = (portalUrl: string, head = ''): string =>
  document(
    'No game lives here',
    `<p>There is no game at this address, or it is not open to everyone. If it is yours, <a href="/auth/service/start?returnTo=/" target="_top">sign in</a> to see it.</p><p><a class="act" href="${escapeHtml(portalUrl)}/" target="_top">Find a game to play</a></p>`,
    head,
  )

/** The page of a game without a deploy. */
export const emptyGamePage = (title: string, manageUrl: string): string =>
  document(
    `${escapeHtml(title)} is being set up`,
    `<p>The game has no published build yet. Come back soon.</p><p>Is it yours? <a href="${escapeHtml(manageUrl)}">Publish a build</a>.</p>`,
  )

/** The page of a game that its owner has closed in its settings. */
export const closedPage = (title: string, manageUrl: string): string =>
  document(
    `${escapeHtml(title)} is closed`,
    `<p>Its maker has closed it for now. Come back later.</p><p>Is it yours? <a href="${escapeHtml(manageUrl)}" target="_top">Open it in its settings</a>.</p>`,
  )

/** The page of a suspended game. Its owner finds the reason in the portal. */
export const suspendedPage = (portalUrl: string): string =>
  document(
    'This game is suspended',
    `<p>The people who look after this platform have taken it offline. Its maker finds the reason in the dashboard of the game.</p><p><a class="act" href="${escapeHtml(portalUrl)}/" target="_top">Find another game</a></p>`,
  )

/** The page of a failed sign-in. */
export const signInFailedPage = (message: string): string =>
  document(
    'You are not signed in',
    `<p>${escapeHtml(message)} Try it again: it takes a moment.</p><p><a class="act" href="/auth/service/start?returnTo=/">Sign in</a></p><p><a href="/">Play without signing in</a></p>`,
  )

/** The window for signing in to a framed game. Its script does the rest (frame-page.ts). */
export const signInWindowPage = (script: string): string =>
  document(
    'Signing you in',
    `<p data-step="window">If this window does not close automatically, close it and go back to the game.</p><p><a href="/">Play in this window</a></p>`,
    `<script type="module" src="${script}"></script>`,
  )

/** The short page in a frame after a sign-out. Its script deletes the frame's token. */
export const signedOutPage = (script: string, returnTo: string): string =>
  document(
    'Signed out',
    `<p data-step="signed-out" data-return-to="${escapeHtml(returnTo)}"><a href="${escapeHtml(returnTo)}">Back to the game</a></p>`,
    `<noscript><meta http-equiv="refresh" content="0;url=${escapeHtml(returnTo)}"></noscript><script type="module" src="${script}"></script>`,
  )

/** Sends one of these pages without caching; by default with status 404. */
export function sendPage(reply: FastifyReply, page: string, status = 404): FastifyReply {
  return reply
    .code(status)
    .headers({
      'cache-control': 'no-store',
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      // A frame of an isolated page requires these headers.
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-resource-policy': 'cross-origin',
    })
    .type('text/html; charset=utf-8')
    .send(page)
}
