import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import type { Routes } from '../../../core/http/routes.ts'
import { Form, html, type NavigationEntry, renderPage } from '../../../core/pages/index.ts'
import { SetupLinkUsed } from '../errors.ts'
import { type FormProblem, formProblemOf } from '../form-problems.ts'
import { AccountFields } from './sign-in-page.ts'

const constraints = { origin: 'portal' }
const Text = Type.Optional(Type.String({ maxLength: 4096 }))
const Params = Type.Object({ token: Type.String() })

interface SetupForm {
  token: string
  name?: string
  email?: string
  problem?: FormProblem
}

/** Returns the administrator's first page: the first of the server's own pages, if it has any. */
const firstOf = (entries: readonly NavigationEntry[]): string =>
  entries.filter(({ place }) => place === 'host').sort((a, b) => a.order - b.order)[0]?.href ?? '/'

/** The page of the link that the first start prints. */
export const setupPages: Routes = async (app) => {
  const { setup, sessions, config } = app.identity

  app.get(
    '/setup/:token',
    { config: { auth: 'none', page: true, secretPath: true }, constraints, schema: { params: Params } },
    async (request, reply) => {
      const { token } = request.params
      if (!(await setup.accepts(token))) throw new SetupLinkUsed()
      return setupPage(reply, { token })
    },
  )

  app.post(
    '/setup/:token',
    {
      config: { auth: 'none', sameOrigin: true, page: true, secretPath: true },
      constraints,
      schema: { params: Params, body: Type.Object({ email: Text, password: Text, name: Text }) },
    },
    async (request, reply) => {
      const { token } = request.params
      const { email = '', password = '', name = '' } = request.body
      try {
        const player = await setup.complete(token, { email, password, name })
        await sessions.start(reply, player.id)
        return reply.redirect(firstOf(app.site.navigation), 303)
      } catch (error) {
        if (error instanceof SetupLinkUsed) throw error
        return setupPage(reply, { token, name, email, problem: formProblemOf(error) })
      }
    },
  )

  const setupPage = (reply: FastifyReply, { token, name, email, problem }: SetupForm) => {
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: 'Set up',
      narrow: true,
      status: problem?.status ?? 200,
      head: html`<meta name="robots" content="noindex" />`,
      body: html`
        <div class="stack">
          <header class="page-header">
            <h1>Create the first account</h1>
            <p class="lede">${app.site.name} is running. The first account administers this server.</p>
          </header>
          <${Form} action=${`/setup/${token}`} error=${problem?.message} submit="Create admin account">
            <${AccountFields} ...${{ name, email, minLength: config.passwordMinLength, problem }} />
          <//>
        </div>`,
    })
  }
}
