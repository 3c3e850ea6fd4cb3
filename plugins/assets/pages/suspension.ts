import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { APPEAL_LENGTH, REASON_LENGTH } from '../../../core/data/staff/suspensions.ts'
import { actorOf, adminPage, callerOf, staffPage } from '../../../core/http/auth.ts'
import { bodyWithText } from '../../../core/http/limits/body-limits.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Button,
  Card,
  Confirm,
  Field,
  Form,
  html,
  PageHeader,
  renderPage,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { type AssetRecord, pathOf } from '../record.ts'

const Params = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const own = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const

/** Pages that suspend an asset, for moderators and administrators, and that take the owner's answer. */
export const suspensionPages: Routes = async (app) => {
  const { suspensions } = app.assets
  const show = async (request: FastifyRequest, reply: FastifyReply, slug: string, problem?: string) => {
    const asset = await app.assets.get(slug)
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: `Suspend ${asset.title}`,
      current: '/assets',
      user: callerOf(request).viewer,
      status: problem ? 400 : 200,
      narrow: true,
      body: SuspensionPage(asset, { problem, administers: callerOf(request).viewer?.role === 'admin' }),
    })
  }

  app.get('/admin/assets/:slug/suspend', { ...staffPage, schema: { params: Params } }, (request, reply) =>
    show(request, reply, request.params.slug),
  )

  app.post(
    '/admin/assets/:slug/suspend',
    {
      ...staffPage,
      schema: { params: Params, body: Type.Object({ reason: Type.Optional(Type.String({ maxLength: 4096 })) }) },
    },
    async (request, reply) => {
      const reason = request.body.reason?.trim()
      if (!reason) return show(request, reply, request.params.slug, 'Give the reason. The maker reads it.')
      const { slug } = await suspensions.suspend(request.params.slug, reason, actorOf(request))
      return reply.redirect(`/admin/assets/${slug}/suspend`, 303)
    },
  )

  app.post('/admin/assets/:slug/lift', { ...staffPage, schema: { params: Params } }, async (request, reply) => {
    const asset = await suspensions.lift(request.params.slug, actorOf(request))
    return reply.redirect(asset.visibility === 'public' ? pathOf(asset) : `/admin/assets/${asset.slug}/suspend`, 303)
  })

  app.post(
    '/admin/assets/:slug/delete',
    {
      ...adminPage,
      preHandler: app.identity.recentSignIn('/admin/assets/:slug/suspend'),
      schema: { params: Params },
    },
    async (request, reply) => {
      await app.assets.changes.removeByStaff(request.params.slug, actorOf(request))
      return reply.redirect('/assets', 303)
    },
  )

  app.post(
    '/assets/:slug/appeal',
    {
      ...own,
      // Ownership is checked before the body is read. Another player's asset counts as not found.
      onRequest: async (request) => {
        await app.assets.mustOwn(callerOf(request).playerId, (request.params as { slug: string }).slug)
      },
      bodyLimit: bodyWithText(APPEAL_LENGTH),
      schema: { params: Params, body: Type.Object({ text: Type.String({ maxLength: 4096 }) }) },
    },
    async (request, reply) => {
      const { slug } = request.params
      if (request.body.text.trim()) await suspensions.appeal(callerOf(request).playerId, slug, request.body.text)
      return reply.redirect(pathOf({ slug }), 303)
    },
  )
}

interface SuspensionPageProps {
  problem: string | undefined
  /** Whether the viewer is an administrator. */
  administers: boolean
}

function SuspensionPage(asset: AssetRecord, { problem, administers }: SuspensionPageProps): View {
  const { suspended, appeal, slug, title } = asset
  return html`
    <${PageHeader} title=${suspended ? `${title} is suspended` : `Suspend ${title}`}
      lede="Its files answer 451 wherever games link to them, and no list has it. Nothing is deleted." />
    ${
      suspended &&
      html`<${Card} title="Suspended"><p><bdi>${suspended.reason}</bdi></p>
        ${appeal && html`<p>Its maker answers: <bdi>${appeal}</bdi></p>`}
        <${Form} action=${`/admin/assets/${slug}/lift`}><${Button} kind="act">Lift<//><//>
        ${
          administers &&
          html`<${Confirm} label="Delete the asset" action=${`/admin/assets/${slug}/delete`} submit="Delete it for good">
            <p>Its files are gone at once. Backups of this server still have them. Its owner is told.</p>
          <//>`
        }<//>`
    }
    <${Form} action=${`/admin/assets/${slug}/suspend`}>
      <${Field} label="Reason" name="reason" type="textarea" rows=${4} required maxlength=${REASON_LENGTH} error=${problem}
        hint="Its maker reads this and may answer once." value=${suspended?.reason} />
      <${Button} kind=${suspended ? 'plain' : 'act'}>${suspended ? 'Change the reason' : 'Suspend the asset'}<//>
    <//>`
}

/** Shows the makers of a suspended asset the reason, and its owner the form to answer. */
export const suspensionOf = ({ suspended, appeal, slug }: AssetRecord, owned: boolean): View | null =>
  suspended &&
  html`<${Card} title="Suspended" description="Its files answer 451 wherever they are linked. Nothing is deleted.">
    <p><bdi>${suspended.reason}</bdi></p><p class="soft">Since <${Timestamp} at=${suspended.at} />.</p>
    ${
      appeal
        ? html`<p>${owned ? 'You answered' : 'Its owner answered'}: <bdi>${appeal}</bdi></p>`
        : owned &&
          html`<${Form} action=${`/assets/${slug}/appeal`}>
            <${Field} label="Your answer" name="text" type="textarea" rows=${4} required maxlength=${APPEAL_LENGTH} hint="You can answer once. Say what you changed." />
            <${Button} kind="act">Send the answer<//>
          <//>`
    }
  <//>`
