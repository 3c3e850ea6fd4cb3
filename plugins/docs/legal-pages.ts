import { readFile } from 'node:fs/promises'
import { NotFound } from '../../core/errors.ts'
import type { Routes } from '../../core/http/routes.ts'
import { html, renderPage } from '../../core/pages/index.ts'
import { isAddress } from '../../core/pages/legal.ts'
import { renderUntrusted } from './render.ts'

const TITLES = { terms: 'Terms', privacy: 'Privacy' } as const

/** The operator's terms and privacy notice (`portal.legal`), from Markdown files. A change needs no restart. */
export const legalPages: Routes = async (app) => {
  for (const name of ['terms', 'privacy'] as const) {
    app.get(
      `/legal/${name}`,
      { config: { auth: 'optional', page: true }, constraints: { origin: 'portal' } },
      async (request, reply) => {
        const source = app.config.portal.legal[name]
        if (source === undefined) throw new NotFound('page')
        if (isAddress(source)) return reply.redirect(source, 302)
        const { title, lede, html: text } = renderUntrusted(await readFile(source, 'utf8'), TITLES[name])
        return renderPage(reply, {
          title,
          share: { path: `/legal/${name}` },
          user: request.principal?.viewer,
          narrow: true,
          body: html`<article class="guide-text">
            <h1>${title}</h1>
            ${lede && html`<div class="guide-lede" dangerouslySetInnerHTML=${{ __html: lede }}></div>`}
            <div class="prose" dangerouslySetInnerHTML=${{ __html: text }}></div>
          </article>`,
        })
      },
    )
  }
}
