import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage, type View } from '../../../core/pages/index.ts'
import { signInAgainPath } from '../sessions/recent-sign-in.ts'
import { grouped } from '../short-codes.ts'
import { parseUserCode, type WaitingDevice } from './device-codes.ts'
import { DeviceApprovalPage, DeviceCodePage, DeviceDonePage } from './device-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const UserCode = Type.String({ maxLength: 100 })
const UNKNOWN = 'There is no device waiting under this code. Check it, or begin again on the device.'

/** Pages on which players approve or deny devices (RFC 8628 section 3.3). */
export const devicePages: Routes = async (app) => {
  const { identity, rateLimiter } = app

  app.get(
    '/oauth/device',
    {
      ...signedIn,
      schema: {
        querystring: Type.Object({
          user_code: Type.Optional(UserCode),
          done: Type.Optional(Type.String({ maxLength: 20 })),
        }),
      },
    },
    async (request, reply) => {
      const { user_code: code, done } = request.query
      if (done !== undefined) return page(request, reply, DeviceDonePage({ approved: done === 'approved' }))
      if (!code) return page(request, reply, DeviceCodePage({}))
      const device = await find(request, reply, code)
      return 'refusal' in device ? device.refusal : ask(request, reply, device, code)
    },
  )

  app.post(
    '/oauth/device',
    {
      ...signedIn,
      schema: {
        body: Type.Object({
          user_code: UserCode,
          decision: Type.Union([Type.Literal('allow'), Type.Literal('deny')]),
        }),
      },
    },
    async (request, reply) => {
      const { user_code: code, decision } = request.body
      const device = await find(request, reply, code)
      if ('refusal' in device) return device.refusal
      const approved = decision === 'allow'
      // A device outlives the session. The way back keeps the code, so the login of a program stays one flow.
      if (approved && !(await identity.isRecentCaller(callerOf(request)))) {
        return reply.redirect(signInAgainPath(`/oauth/device?${new URLSearchParams({ user_code: code })}`), 303)
      }
      const answered = await identity.devices.decide(device, approved ? await approval(request, device) : null)
      if (!answered) return refuse(request, reply, code, UNKNOWN)
      return reply.redirect(`/oauth/device?done=${approved ? 'approved' : 'denied'}`, 303)
    },
  )

  async function approval(request: FastifyRequest, { clientId, scope }: WaitingDevice) {
    const { playerId, credentialId } = callerOf(request)
    const authTime = await identity.sessions.startedAt(credentialId)
    return { playerId, authTime, consentId: await identity.consents.remember(playerId, clientId, scope) }
  }

  /** Codes are short, so attempts are limited by account and by address (RFC 8628 section 5.1). */
  async function find(request: FastifyRequest, reply: FastifyReply, code: string) {
    const most = identity.limits.deviceCodeAttemptsPerMinute
    try {
      await rateLimiter.take(`device-code/${callerOf(request).playerId}`, most, 60_000)
      await rateLimiter.take(`device-code/${callerAddress(request)}`, 5 * most, 60_000)
    } catch (error) {
      if (!isPlatformError(error) || error.statusCode !== 429) throw error
      return {
        refusal: refuse(request, reply.headers(error.headers ?? {}), code, 'Too many tries. Wait a minute.', 429),
      }
    }
    return (await identity.devices.find(code)) ?? { refusal: refuse(request, reply, code, UNKNOWN) }
  }

  async function ask(request: FastifyRequest, reply: FastifyReply, device: WaitingDevice, code: string) {
    const client = await identity.apps.find(device.clientId)
    if (!client) return refuse(request, reply, code, UNKNOWN)
    const letters = parseUserCode(code) ?? ''
    return page(
      request,
      reply,
      DeviceApprovalPage({
        clientName: client.name,
        label: device.label,
        machine: device.machine,
        userCode: grouped(letters),
        playerName: callerOf(request).viewer?.name ?? '',
        scope: identity.builtins.has(client.clientId) ? null : device.scope,
      }),
    )
  }

  const refuse = (request: FastifyRequest, reply: FastifyReply, code: string, error: string, status = 400) =>
    page(request, reply, DeviceCodePage({ code, error }), status)

  function page(request: FastifyRequest, reply: FastifyReply, body: View, status = 200) {
    reply.header('cache-control', 'no-store')
    return renderPage(reply, { title: 'Sign a device in', user: callerOf(request).viewer, narrow: true, status, body })
  }
}
