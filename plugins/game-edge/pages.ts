import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'

/**
 * The pages that the platform itself shows on a game's origin. They carry their style along: on this origin every path
 * but the reserved ones is the game's own.
 */
const STYLE = `:root{color-scheme:light dark;--paper:light-dark(#faf7f1,#14161b);--ink:light-dark(#1d1b16,#f1eee7);--soft:light-dark(#5e584c,#a9a79f);--act:light-dark(#c2410c,#ff8a4c);--on-act:light-dark(#fff,#1b0d04)}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--paper);color:var(--ink);font:1rem/1.55 "Instrument Sans Variable",ui-sans-serif,system-ui,sans-serif}
main{max-width:34rem;padding:2rem 1.5rem}h1{font-size:clamp(1.7rem,1.2rem + 2.4vw,2.6rem);line-height:1.12;letter-spacing:-.02em;margin:0 0 .75rem;text-wrap:balance}
p{margin:0 0 1rem;color:var(--soft)}a{color:var(--act);text-underline-offset:.2em}
a.act{display:inline-block;margin-top:.5rem;padding:.7em 1.3em;border-radius:999px;background:var(--act);color:var(--on-act);font-weight:600;line-height:1.2;text-decoration:none}`

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'`

const document = (title: string, body: string) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>${title}</title><style>${STYLE}</style><main><h1>${title}</h1>${body}</main></html>`

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** Nobody's address, or a private game to somebody who may not see it: the two look the same. */
export const noGamePage = (portalUrl: string): string =>
  document(
    'No game lives here',
    `<p>There is no game at this address, or it is not open to everyone. If it is yours, <a href="/auth/service/start?returnTo=/">sign in</a> to see it.</p><p><a class="act" href="${escapeHtml(portalUrl)}/">Find a game to play</a></p>`,
  )

/** A game that nothing has been deployed for. */
export const emptyGamePage = (title: string, manageUrl: string): string =>
  document(
    `${escapeHtml(title)} is being set up`,
    `<p>The game is registered, and its first build has not been published yet. Come back soon.</p><p>Is it yours? <a href="${escapeHtml(manageUrl)}">Publish a build</a>.</p>`,
  )

/** Sends one of these pages, as a 404 that nobody keeps. */
export function sendNotFoundPage(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .code(404)
    .headers({ 'cache-control': 'no-store', 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff' })
    .type('text/html; charset=utf-8')
    .send(page)
}
