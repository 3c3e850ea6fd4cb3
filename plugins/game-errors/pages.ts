import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import {
  Card,
  CodeBlock,
  Confirm,
  type Content,
  EmptyState,
  html,
  renderPage,
  Section,
  Timestamp,
  type View,
} from '../../core/pages/index.ts'
import { sourceExcerpt } from '../deploy/index.ts'
import { dashboardHeader, type Game } from '../games/index.ts'
import { ERRORS_TAG } from './dashboard.ts'
import type { GameError } from './schemas.ts'

const Params = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const Query = Type.Object({ done: Type.Optional(Type.String({ maxLength: 20 })) })
const number = new Intl.NumberFormat('en')

/** The errors of a game, on its dashboard. */
export const pages: Routes = async (app) => {
  const gameOf = (request: FastifyRequest) =>
    app.games.mustMake(callerOf(request).playerId, (request.params as { slug: string }).slug)
  const own = {
    config: { auth: 'session', page: true },
    constraints: { origin: 'portal' },
    onRequest: async (request: FastifyRequest) => void (await gameOf(request)),
  } as const
  const pathOf = ({ slug }: Game) => `/games/${slug}/errors`

  app.get('/games/:slug/errors', { ...own, schema: { params: Params, querystring: Query } }, async (request, reply) => {
    const game = await gameOf(request)
    const errors = await app.gameErrors.list(game.id)
    return renderPage(reply, {
      title: `Errors of ${game.title}`,
      user: callerOf(request).viewer,
      flash: request.query.done === 'clear' ? { message: 'The errors are forgotten.' } : null,
      body: html`
        ${dashboardHeader(app, game, pathOf(game))}
        <${Section} title="Errors"
          description="Exceptions in the browsers of players, the latest first. Each stays for 30 days after it occurred last; the newest 100 are kept."
          action=${errors.length > 0 && html`<${Confirm} small kind="plain" label="Forget all" action=${`${pathOf(game)}/clear`}><p>What occurs again appears again.</p><//>`}>
          ${errors.length > 0 ? errors.map((error) => cardOf(error, game)) : NOTHING}
        <//>`,
    })
  })

  app.post('/games/:slug/errors/clear', { ...own, schema: { params: Params } }, async (request, reply) => {
    const game = await gameOf(request)
    await app.gameErrors.clear(game.id)
    return reply.redirect(`${pathOf(game)}?done=clear`, 303)
  })
}

const NOTHING = html`
  <div class="card"><${EmptyState} title="No errors reported">
    <p>Pages that load this script report their exceptions. It comes first in the head, before the scripts of the game. <a href="/docs/errors">The guide</a></p>
  <//></div>
  <${CodeBlock} title="In the head of each page" code=${ERRORS_TAG} />`

const cardOf = (error: GameError, game: Game): View => html`
  <${Card} title=${error.message} description=${html`${timesOf(error)} · ${versionOf(error, game)} · ${error.browser}`}>
    ${error.source ? sourceExcerpt(error.source) : error.path !== null && html`<p><code>${placeOf(error)}</code></p>`}
    ${error.stack && html`<details class="more"><summary>Stack</summary><pre class="code" tabindex="0"><code>${error.stack}</code></pre></details>`}
  <//>`

const timesOf = ({ count, firstAt, lastAt }: GameError): Content =>
  count === 1
    ? html`once, <${Timestamp} at=${lastAt} />`
    : html`${number.format(count)} times · last <${Timestamp} at=${lastAt} /> · first <${Timestamp} at=${firstAt} />`

const versionOf = ({ deployId }: GameError, { liveDeployId, slug }: Game): Content => {
  if (deployId === null) return 'an earlier version'
  return html`<a href=${`/games/${slug}/deploys`}>${deployId === liveDeployId ? 'the live version' : `version ${deployId.slice(-6).toLowerCase()}`}</a>`
}

const placeOf = ({ path, line, column }: GameError): string =>
  [path, line, column].filter((part) => part !== null).join(':')
