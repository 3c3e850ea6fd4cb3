import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../core/errors.ts'
import { callerOf } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { renderPage } from '../../core/pages/index.ts'
import { type CreatedToken, DEFAULT_EXPIRY, EXPIRIES, type Expiry } from './schemas.ts'
import { ALL_SCOPES, PRESETS, type Scope } from './scopes.ts'
import { type TokenForm, TokensPage } from './tokens-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const Text = Type.Optional(Type.String({ maxLength: 200 }))

/** A form sends one checked box as text, and several as a list. */
const FormBody = Type.Object({
  label: Text,
  access: Text,
  scopes: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 50 })])),
  expires: Text,
})

/** /settings/tokens, which works without a script. */
export const pages: Routes = async (app) => {
  app.get(
    '/settings/tokens',
    {
      ...signedIn,
      schema: { querystring: Type.Object({ cursor: Text, done: Text }) },
    },
    async (request, reply) => tokensPage(request, reply, { cursor: request.query.cursor, done: request.query.done }),
  )

  // The response is a page instead of a redirect, because the token is shown only once and is not stored.
  app.post('/settings/tokens', { ...signedIn, schema: { body: FormBody } }, async (request, reply) => {
    const form = readForm(request.body)
    try {
      const created = await app.tokens.create({ ...form, playerId: callerOf(request).playerId })
      return await tokensPage(request, reply, { created })
    } catch (error) {
      if (!isPlatformError(error) || error.statusCode !== 400) throw error
      const errors = Object.fromEntries((error.details ?? []).map(({ path, message }) => [path, message]))
      return tokensPage(request, reply, { form: { ...form, access: request.body.access ?? 'builder', errors } })
    }
  })

  app.post(
    '/settings/tokens/:id/revoke',
    { ...signedIn, schema: { params: Type.Object({ id: Type.String() }) } },
    async (request, reply) => {
      await app.tokens.revoke(callerOf(request).playerId, request.params.id)
      return reply.redirect('/settings/tokens?done=revoked', 303)
    },
  )

  async function tokensPage(
    request: FastifyRequest,
    reply: FastifyReply,
    state: { cursor?: string | undefined; done?: string | undefined; created?: CreatedToken; form?: TokenForm },
  ) {
    const { playerId, viewer } = callerOf(request)
    const { cursor, done, created, form } = state
    const list = await app.tokens.list(playerId, { limit: 20, ...(cursor ? { cursor } : {}) })
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: 'API tokens',
      current: '/settings/tokens',
      user: viewer,
      status: form ? 400 : 200,
      flash: done === 'revoked' ? { message: 'The token is revoked. It stopped working at once.' } : null,
      body: TokensPage({
        ...list,
        first: cursor === undefined,
        created,
        form: form ?? EMPTY_FORM,
        portalUrl: app.origins.portal,
        now: app.clock.now(),
      }),
    })
  }
}

const EMPTY_FORM: TokenForm = {
  label: '',
  access: 'builder',
  scopes: [],
  expiresInDays: DEFAULT_EXPIRY,
  errors: {},
}

interface RawForm {
  label?: string
  access?: string
  scopes?: string | string[]
  expires?: string
}

/** Reads a preset, or the checked scopes for a custom choice. */
function readForm({ label = '', access = 'builder', scopes = [], expires }: RawForm) {
  const preset = PRESETS.find(({ id }) => id === access)
  const ticked = new Set([scopes].flat())
  const chosen: Scope[] = preset ? [...preset.scopes] : ALL_SCOPES.filter((scope) => ticked.has(scope))
  const expiresInDays: Expiry = EXPIRIES.find((days) => String(days) === expires) ?? DEFAULT_EXPIRY
  return { label, scopes: chosen, expiresInDays: expires === 'null' ? null : expiresInDays }
}
