import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../../core/errors.ts'
import { actorOf, adminPage, callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { Button, Choices, Form, html, Notice, PageHeader, renderPage, type View } from '../../../core/pages/index.ts'
import { personLabel } from '../members/person-label.ts'
import type { Person } from '../members/schemas.ts'
import type { Game } from '../schemas.ts'

const Params = Type.Object({ id: Type.String({ maxLength: 40 }) })
const Body = Type.Object({ maker: Type.Optional(Type.String({ maxLength: 30 })) })

/** /admin/games/:id/hand-over: gives a game whose owner's account is disabled to one of its makers. */
export const handOverPages: Routes = async (app) => {
  const { handOver, members } = app.games
  const path = '/admin/games/:id/hand-over'
  const page = async (request: FastifyRequest, reply: FastifyReply, id: string, refused?: Refused) => {
    const game = await app.games.get(id)
    const people = await members.people([game.ownerId, ...game.makerIds])
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: `Hand over ${game.title}`,
      current: '/admin/games',
      user: callerOf(request).viewer,
      status: refused?.status ?? 200,
      narrow: true,
      body: HandOverPage({
        game,
        owner: people.get(game.ownerId)?.name ?? game.ownerId,
        isDisabled: (await app.identity.players.find(game.ownerId))?.disabled ?? true,
        makers: game.makerIds.flatMap((makerId) => people.get(makerId) ?? []),
        problem: refused?.message,
      }),
    })
  }

  app.get(path, { ...adminPage, schema: { params: Params } }, (request, reply) =>
    page(request, reply, request.params.id),
  )

  app.post(path, { ...adminPage, schema: { params: Params, body: Body } }, async (request, reply) => {
    const { id } = request.params
    const { maker } = request.body
    if (!maker) return page(request, reply, id, { status: 400, message: 'Choose one of the makers.' })
    try {
      await handOver.byStaff(id, maker, actorOf(request))
    } catch (error) {
      if (!isPlatformError(error) || error.statusCode !== 409) throw error
      return page(request, reply, id, { status: 409, message: error.message })
    }
    request.log.info({ step: 'hand over', game: id, to: maker, by: callerOf(request).playerId }, CHANGED)
    return reply.redirect(`/admin/games?q=${encodeURIComponent(id)}`, 303)
  })
}

const CHANGED = 'an administrator changed a game'

interface Refused {
  status: number
  message: string
}

interface HandOverPageProps {
  game: Game
  /** The owner's name. */
  owner: string
  /** Whether the owner's account is disabled, without which nothing is handed over. */
  isDisabled: boolean
  makers: readonly Person[]
  problem: string | undefined
}

const HandOverPage = ({ game, owner, isDisabled, makers, problem }: HandOverPageProps): View => html`
  <${PageHeader} title=${`Hand over ${game.title}`} crumbs=${[{ label: 'Games', href: '/admin/games' }]}
    lede=${isDisabled ? `The account of ${owner}, who owns it, is disabled. The new owner has the game with all that it stores; ${owner} stays one of its makers.` : `${owner} owns it, and can offer it to a maker. The staff hand a game over when the account of its owner is disabled.`} />
  ${
    makers.length === 0
      ? html`<p>Nobody else makes this game.</p>`
      : !isDisabled
        ? html`${problem && html`<${Notice} tone="error">${problem}<//>`}
          <div class="row"><${Button} href=${`/admin/players/${game.ownerId}`}>Open the account of the owner<//></div>`
        : html`<${Form} action=${`/admin/games/${game.id}/hand-over`}>
          <${Choices} legend="Who should own it?" name="maker" error=${problem} options=${makers.map((maker) => ({ value: maker.id, label: personLabel(maker) }))} />
          <${Button} kind="act">Hand over the game<//>
        <//>`
  }`
