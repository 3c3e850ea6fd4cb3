import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../core/errors.ts'
import { callerOf } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { Field, Form, html, PageHeader, renderPage, type View } from '../../core/pages/index.ts'
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
  app.get(PATH, own, async (request, reply) => chooser(app, request, reply))

  app.post(PATH, { ...own, schema: { body: Body } }, async (request, reply) => {
    const { starter, title: typed } = request.body
    const title = typed.trim()
    try {
      const game = await app.starters.create(callerOf(request).playerId, { starter, ...(title ? { title } : {}) })
      return reply.redirect(`/games/${game.slug}`, 303)
    } catch (error) {
      if (!isPlatformError(error) || error.statusCode >= 500) throw error
      return chooser(app, request, reply, { starter, title, problem: error.message, status: error.statusCode })
    }
  })
}

interface Chosen {
  starter?: string
  title?: string
  /** The reason why no game was made, and the response's status. */
  problem?: string
  status?: number
}

function chooser(
  { browserFiles }: Pick<FastifyInstance, 'browserFiles'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { starter: chosen = STARTERS[0]?.name, title = '', problem, status = 200 }: Chosen = {},
): string {
  const choice = ({ name, title, summary, shows }: Starter): View => html`
    <div class="picture-choice">
      <input type="radio" name="starter" value=${name} id=${`starter-${name}`} checked=${name === chosen} aria-describedby=${`starter-${name}-text`} />
      <label for=${`starter-${name}`}>
        <img src=${browserFiles.url(`starter-${name}.jpg`)} width="640" height="400" alt="" decoding="async" />
        <span>${title}</span>
      </label>
      <p class="hint" id=${`starter-${name}-text`}>${summary} <span class="soft">${shows}</span></p>
    </div>`
  return renderPage(reply, {
    title: 'From a starter',
    current: '/games',
    user: callerOf(request).viewer,
    status,
    body: html`
      <${PageHeader} title="From a starter"
        crumbs=${[{ label: 'My games', href: '/games' }, { label: 'New game', href: '/games/new' }]}
        lede="A small game that runs at once, at an address of its own. Then you change it." />
      <${Form} action=${PATH} submit="Create the game" error=${problem}>
        <fieldset class="picture-choices">
          <legend>Choose a game</legend>
          <div>${STARTERS.map(choice)}</div>
        </fieldset>
        <${Field} label="Title" name="title" value=${title} required=${false} maxlength=${TITLE_LENGTH} autocomplete="off"
          hint="Without one it has the title of the starter. Everyone can play it; its settings change that." />
      <//>`,
  })
}
