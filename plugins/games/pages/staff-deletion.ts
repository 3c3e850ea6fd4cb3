import Type from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { actorOf, adminPage, callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { Button, Field, Form, html, PageHeader, renderPage, type View } from '../../../core/pages/index.ts'
import type { Game } from '../schemas.ts'

const Params = Type.Object({ id: Type.String({ maxLength: 40 }) })
const Body = Type.Object({ confirm: Type.String({ maxLength: 100 }) })

/** /admin/games/:id/delete: deletes a suspended game for good. */
export const staffDeletionPages: Routes = async (app) => {
  const path = '/admin/games/:id/delete'
  app.get(path, { ...adminPage, schema: { params: Params } }, async (request, reply) => {
    const game = await app.games.evenDeleted(request.params.id)
    if (!game) throw new NotFound('game')
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: `Delete ${game.title}`,
      current: '/admin/games',
      user: callerOf(request).viewer,
      narrow: true,
      body: DeletionPage(game),
    })
  })

  const preHandler = app.identity.recentSignIn(path)
  app.post(path, { ...adminPage, preHandler, schema: { params: Params, body: Body } }, async (request, reply) => {
    const { id } = request.params
    await app.games.deletion.removeByStaff(id, request.body.confirm.trim(), actorOf(request))
    request.log.info({ step: 'delete', game: id, by: callerOf(request).playerId }, 'an administrator changed a game')
    return reply.redirect('/admin/games?done=delete', 303)
  })
}

const DeletionPage = ({ id, title, slug, suspended }: Game): View => html`
  <${PageHeader} title=${`Delete ${title}`} crumbs=${[{ label: 'Games', href: '/admin/games' }]}
    lede="For good, and at once: its builds, pictures, saves, scores and rooms. Backups of this server still have them. Its owner is told." />
  ${
    suspended
      ? html`<p>It is suspended: <bdi>${suspended.reason}</bdi></p>
        <${Form} action=${`/admin/games/${id}/delete`}>
          <${Field} label=${`Type ${slug} to confirm`} name="confirm" required autocomplete="off" mono />
          <div class="form-actions"><${Button} kind="danger">Delete the game for good<//></div>
        <//>`
      : html`<p>Suspend it first, so that its maker reads the reason.</p>
        <div class="row"><${Button} href=${`/admin/games/${id}/suspend`}>Suspend the game<//></div>`
  }`
