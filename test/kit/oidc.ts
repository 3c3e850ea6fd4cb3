import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import Provider from 'oidc-provider'
import type { Test } from 'tap'

export interface UpstreamPerson {
  sub: string
  name: string
  email?: string
  email_verified?: boolean
}

/**
 * Starts a real OpenID Connect provider (oidc-provider) on a free port of 127.0.0.1, which signs in `person.current`
 * without showing a page. It ends with the test.
 */
export async function startOidc(t: Test, redirectUri: string) {
  const person: { current: UpstreamPerson } = { current: { sub: 'u1', name: 'Ada Upstream' } }
  const people = new Map<string, UpstreamPerson>()
  let handle: ReturnType<Provider['callback']> | undefined
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/interaction/')) return void interact(request, response)
    handle?.(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const issuer = `http://127.0.0.1:${port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'yard', client_secret: 'upstream-secret-4711', redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: async () => ({ ...people.get(sub), sub }) }),
    cookies: { keys: ['test'] },
  })
  handle = provider.callback()

  async function interact(request: IncomingMessage, response: ServerResponse) {
    const { prompt, params, session } = await provider.interactionDetails(request, response)
    const { current } = person
    people.set(current.sub, current)
    if (prompt.name === 'login') {
      await provider.interactionFinished(request, response, { login: { accountId: current.sub } })
      return
    }
    const grant = new provider.Grant({ accountId: session?.accountId as string, clientId: params.client_id as string })
    grant.addOIDCScope('openid profile email')
    await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  }

  return { issuer, person, server }
}

/** Follows redirects within the provider with a cookie jar. Returns the first address outside it. */
export async function followRedirects(start: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  const { origin } = url
  for (let hop = 0; hop < 12; hop++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} })
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';', 1)[0]?.split(/=(.*)/s) ?? []
      if (value) cookies.set(name, value)
      else cookies.delete(name)
    }
    const location = response.headers.get('location')
    if (!location) throw new Error(`The provider answered ${response.status}: ${await response.text()}`)
    url = new URL(location, url)
    if (url.origin !== origin) return url
  }
  throw new Error('The provider never let go.')
}
