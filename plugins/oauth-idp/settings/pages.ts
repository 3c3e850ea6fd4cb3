import multipart from '@fastify/multipart'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { InvalidRequest, NotFound } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage } from '../../../core/pages/index.ts'
import { InvalidCredentials, LastAdmin } from '../errors.ts'
import { formProblemOf } from '../form-problems.ts'
import { LARGEST } from '../players/avatar-image.ts'
import { downloadHeaders } from '../players/data-export.ts'
import { fieldError } from '../players/profile.ts'
import { renderMailSent } from '../players/recovery-pages.ts'
import { decisionsOf } from '../players/shared-content.ts'
import { AccountPage, type Refused } from './account-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
/** The limit includes the overhead of the multipart format. */
const PICTURE = { maxBytes: LARGEST.bytes + 64 * 1024 }
const Text = Type.Optional(Type.String({ maxLength: 4096 }))

/** The fields about what others use as well have names of their own (players/shared-content.ts). */
const Deletion = Type.Object(
  { password: Text, confirm: Text },
  { additionalProperties: Type.String({ maxLength: 30 }) },
)

/** The messages after a step. The address contains only the name of the step. */
const DONE: Record<string, string> = {
  name: 'Your name is changed.',
  picture: 'Your picture is changed.',
  upgraded:
    'This is your account now. Passkeys, connected accounts and tokens of the guest have ended; add yours again.',
  address: 'Your email address is changed. The old address got a notice.',
  verified: 'Your email address is verified.',
}

/** /settings: the profile and account of the player. */
export const settingsPages: Routes = async (app) => {
  const {
    waysBack,
    players,
    passwords,
    sessions,
    signUp,
    recovery,
    addressChange,
    avatars,
    deletion,
    settings,
    config,
  } = app.identity
  await app.register(multipart, { limits: { files: 1, fields: 2, fileSize: LARGEST.bytes, headerPairs: 20 } })
  settings.push({ label: 'Account', href: '/settings', order: 10 })

  app.get(
    '/settings',
    { ...signedIn, schema: { querystring: Type.Object({ done: Type.Optional(Type.String()) }) } },
    async (request, reply) => accountPage(request, reply, { done: request.query.done }),
  )

  app.post('/settings/name', { ...signedIn, schema: { body: Type.Object({ name: Text }) } }, async (request, reply) => {
    const { name = '' } = request.body
    try {
      await players.rename(callerOf(request).playerId, name)
      return reply.redirect('/settings?done=name', 303)
    } catch (error) {
      return accountPage(request, reply, { refused: { form: 'name', name, problem: formProblemOf(error) } })
    }
  })

  app.post(
    '/settings/picture',
    { ...signedIn, config: { ...signedIn.config, upload: PICTURE } },
    async (request, reply) => {
      try {
        const { playerId } = callerOf(request)
        await avatars.set(playerId, await pictureOf(request))
        return reply.redirect('/settings?done=picture', 303)
      } catch (error) {
        return accountPage(request, reply, { refused: { form: 'picture', problem: formProblemOf(error) } })
      }
    },
  )

  app.post('/settings/picture/remove', signedIn, async (request, reply) => {
    await avatars.remove(callerOf(request).playerId)
    return reply.redirect('/settings?done=picture', 303)
  })

  app.post(
    '/settings/upgrade',
    { ...signedIn, schema: { body: Type.Object({ email: Text, password: Text, name: Text }) } },
    async (request, reply) => {
      const { email = '', password = '', name = '' } = request.body
      const { playerId } = callerOf(request)
      if (!(await players.find(playerId))?.isGuest) throw new NotFound('guest')
      try {
        const player = await signUp.begin(
          { email, password, name },
          {
            address: callerAddress(request),
            guestId: playerId,
            wayBack: waysBack.begin(request, reply, '/settings?done=upgraded'),
          },
        )
        if (!player) return renderMailSent(app, reply, email, { user: callerOf(request).viewer })
        await sessions.start(reply, player.id)
        return reply.redirect('/settings?done=upgraded', 303)
      } catch (error) {
        return accountPage(request, reply, { refused: { form: 'upgrade', name, email, problem: formProblemOf(error) } })
      }
    },
  )

  app.post('/settings/verify-email', signedIn, async (request, reply) => {
    const { playerId } = callerOf(request)
    try {
      await recovery.askForVerification(playerId, callerAddress(request))
      return renderMailSent(app, reply, (await players.find(playerId))?.email ?? '', { user: callerOf(request).viewer })
    } catch (error) {
      return accountPage(request, reply, { refused: { form: 'verify', problem: formProblemOf(error) } })
    }
  })

  app.post(
    '/settings/email',
    { ...signedIn, schema: { body: Type.Object({ email: Text, password: Text }) } },
    async (request, reply) => {
      const { email = '', password = '' } = request.body
      const { playerId, credentialId: sessionId } = callerOf(request)
      try {
        const change = { playerId, sessionId, email, password, address: callerAddress(request) }
        if (!(await addressChange.ask(change))) return reply.redirect('/settings/security?done=address', 303)
        return renderMailSent(app, reply, email, { user: callerOf(request).viewer })
      } catch (error) {
        return accountPage(request, reply, { refused: { form: 'email', email, problem: formProblemOf(error) } })
      }
    },
  )

  const recently = app.identity.recentSignIn('/settings')
  app.get('/settings/export', { ...signedIn, preHandler: recently }, async (request, reply) => {
    const { playerId } = callerOf(request)
    const text = deletion.data.begin(playerId, app.clock.now())
    return reply.headers(downloadHeaders('my-data.json')).send(text)
  })

  app.post('/settings/delete', { ...signedIn, schema: { body: Deletion } }, async (request, reply) => {
    const { playerId } = callerOf(request)
    const { password = '', confirm = '' } = request.body
    try {
      await passwords.confirm(playerId, { password, name: confirm, address: callerAddress(request) })
      await deletion.remove(playerId, { decisions: decisionsOf(request.body) })
      await sessions.end(request, reply)
      return reply.redirect('/sign-in?done=deleted', 303)
    } catch (error) {
      const known = error instanceof InvalidCredentials ? fieldError('password', 'This is not your password.') : error
      const problem = formProblemOf(known)
      if (error instanceof InvalidCredentials || error instanceof LastAdmin) problem.status = error.statusCode
      return accountPage(request, reply, { refused: { form: 'delete', problem } })
    }
  })

  async function pictureOf(request: FastifyRequest): Promise<Buffer> {
    if (!request.isMultipart()) throw fieldError('picture', 'Choose a picture.')
    try {
      const file = await request.file()
      const bytes = await file?.toBuffer()
      if (!bytes?.length) throw fieldError('picture', 'Choose a picture.')
      return bytes
    } catch (error) {
      if ((error as { code?: string }).code === 'FST_REQ_FILE_TOO_LARGE') {
        throw fieldError('picture', `Choose a picture of at most ${LARGEST.bytes / 1024 / 1024} MiB.`)
      }
      if ((error as { statusCode?: number }).statusCode === undefined)
        throw new InvalidRequest('The upload was cut short.')
      throw error
    }
  }

  async function accountPage(
    request: FastifyRequest,
    reply: FastifyReply,
    { done, refused }: { done?: string | undefined; refused?: Refused },
  ) {
    const { playerId, viewer } = callerOf(request)
    const player = await players.find(playerId)
    if (!player) throw new NotFound('player')
    const message = done === undefined ? undefined : DONE[done]
    return renderPage(reply.headers(refused?.problem.headers ?? {}), {
      title: 'Settings',
      current: '/settings',
      user: viewer,
      scripts: ['picture.js'],
      status: refused?.problem.status ?? 200,
      flash: message ? { message } : null,
      body: AccountPage({
        entries: settings,
        player: { ...player, imageUrl: player.imageUrl.slice(app.origins.portal.length) },
        hasPicture: player.imageUrl.includes('?v='),
        hasPassword: await passwords.has(playerId),
        minLength: config.passwordMinLength,
        signUp: config.signUp,
        sharedContent: await deletion.sharedContentOf(playerId),
        losses: await deletion.lossesOf(playerId),
        refused,
      }),
    })
  }
}
