import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { SignedInPlayer } from '../players/schemas.ts'

const constraints = { origin: 'portal' }
const tags = ['Sign-in']
const anyone = { config: { auth: 'none', sameOrigin: true, rateLimitGroup: 'sign-in' }, constraints } as const
const owner = { config: { auth: 'session' }, constraints } as const

/** JSON of the WebAuthn specification (`toJSON` of a credential, creation or request options). */
const WebAuthn = Type.Object({}, { additionalProperties: true })
const Created = Type.Object({ id: Type.String(), label: Type.String() })

/** The routes for the passkey buttons' script (islands/passkeys.ts). */
export const passkeyRoutes: Routes = async (app) => {
  const { passkeys, sessions, browser } = app.identity

  app.post(
    '/api/auth/passkeys/options',
    { ...owner, schema: { tags, summary: 'Begin to add a passkey', response: { 200: WebAuthn } } },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { playerId, credentialId: sessionId } = callerOf(request)
      return (await passkeys.registrationOptions(playerId, sessionId)) as unknown as Record<string, unknown>
    },
  )

  app.post(
    '/api/auth/passkeys',
    {
      ...owner,
      schema: {
        tags,
        summary: 'Add the passkey that the browser made',
        body: Type.Object({ label: Type.String({ maxLength: 200 }), response: WebAuthn }),
        response: { 201: Created },
      },
    },
    async (request, reply) => {
      const { label, response } = request.body
      const { playerId, credentialId: sessionId } = callerOf(request)
      const made = response as unknown as RegistrationResponseJSON
      const passkey = await passkeys.register({ playerId, sessionId }, label, made)
      reply.code(201)
      return { id: passkey.id, label: passkey.label }
    },
  )

  app.post(
    '/api/auth/passkeys/sign-in/options',
    { ...anyone, schema: { tags, summary: 'Begin to sign in with a passkey', response: { 200: WebAuthn } } },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const caller = { browser: browser.mark(request, reply), address: callerAddress(request) }
      return (await passkeys.signInOptions(caller)) as unknown as Record<string, unknown>
    },
  )

  app.post(
    '/api/auth/passkeys/sign-in',
    {
      ...anyone,
      schema: {
        tags,
        summary: 'Sign in with a passkey',
        body: Type.Object({ response: WebAuthn }),
        response: { 200: SignedInPlayer },
      },
    },
    async (request, reply) => {
      const response = request.body.response as unknown as AuthenticationResponseJSON
      const { player: user, epoch } = await passkeys.authenticate(response, {
        browser: browser.read(request),
        address: callerAddress(request),
      })
      await sessions.start(reply, user.id, epoch)
      reply.header('cache-control', 'no-store')
      return { user }
    },
  )
}
