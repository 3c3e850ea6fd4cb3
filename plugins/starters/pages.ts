import Type from 'typebox'
import { callerOf } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { Choices, Field, Form, html, PageHeader, renderPage } from '../../core/pages/index.ts'
import { STARTERS, type Starter } from './catalog.ts'

const own = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const PATH = '/games/new/starter'
const TITLE_LENGTH = 120

const Body = Type.Object({
  starter: Type.Union(STARTERS.map(({ name }) => Type.Literal(name))),
  title: Type.String({ default: '', maxLength: TITLE_LENGTH }),
})

/** *New game → From a starter*. */
export const pages: Routes = async (app) => {
  app.get(PATH, own, async (request, reply) => {
    const { browserFiles } = app
    const option = ({ name, title, summary, shows }: Starter) => ({
      value: name,
      label: html`<img src=${browserFiles.url(`starter-${name}.jpg`)} width="640" height="400" alt="" decoding="async" /><span>${title}</span>`,
      hint: html`${summary} <span class="soft">${shows}</span>`,
    })
    return renderPage(reply, {
      title: 'From a starter',
      current: '/games',
      user: callerOf(request).viewer,
      body: html`
        <${PageHeader} title="From a starter"
          crumbs=${[{ label: 'My games', href: '/games' }, { label: 'New game', href: '/games/new' }]}
          lede="A small game that runs at once, at an address of its own. Then you change it." />
        <${Form} action=${PATH} submit="Create the game">
          <${Choices} legend="Choose a game" name="starter" pictures value=${STARTERS[0]?.name} options=${STARTERS.map(option)} />
          <${Field} label="Title" name="title" required=${false} maxlength=${TITLE_LENGTH} autocomplete="off"
            hint="Without one it has the title of the starter. Everyone can play it; its settings change that." />
        <//>`,
    })
  })

  app.post(PATH, { ...own, schema: { body: Body } }, async (request, reply) => {
    const { starter, title: typed } = request.body
    const title = typed.trim()
    const game = await app.starters.create(callerOf(request).playerId, { starter, ...(title ? { title } : {}) })
    return reply.redirect(`/games/${game.slug}`, 303)
  })
}
