import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import t from 'tap'
import { basic, registerApp } from '../../kit/oauth.ts'
import { PASSWORD, startPlatform } from '../../kit/platform.ts'

t.test('a game elsewhere signs a player in over real sockets', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], listen: true })
  const { portal } = platform
  const owner = await platform.signUp()
  await platform.signUp({ name: 'Grace', email: 'grace@example.org' })

  // The game's own server: all it does is to wait for the callback.
  const callbacks: IncomingMessage[] = []
  const game = createServer((request, response) => {
    callbacks.push(request)
    response.end('Welcome!')
  }).listen(0, '127.0.0.1')
  await once(game, 'listening')
  t.teardown(() => game.close())
  const redirectUri = `http://127.0.0.1:${(game.address() as { port: number }).port}/callback?from=portal`
  const app = await registerApp(platform, owner, { redirectUris: [redirectUri] })

  // 1. What a client library learns.
  const server = await (await fetch(`${portal}/.well-known/oauth-authorization-server`)).json()
  t.equal(server.issuer, portal)

  // 2. The player's browser goes to the portal, signs in, allows it, and comes back.
  const state = randomBytes(16).toString('base64url')
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: redirectUri,
    scope: 'profile email',
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const browser = new Browser(portal)
  const signInPage = await browser.open(`${server.authorization_endpoint}?${query}`)
  t.match(signInPage.url, /\/sign-in\?/)
  const consentPage = await browser.submit(signInPage, { email: 'grace@example.org', password: PASSWORD })
  t.match(consentPage.url, /\/oauth\/authorize\?/)
  const back = await browser.submit(consentPage, { decision: 'allow' })
  t.equal(back.text, 'Welcome!')

  // 3. The game's server checks state and issuer, and exchanges the code.
  const answer = new URL(callbacks[0]?.url as string, redirectUri).searchParams
  t.equal(answer.get('from'), 'portal')
  t.equal(answer.get('state'), state)
  t.equal(answer.get('iss'), server.issuer)
  const response = await fetch(server.token_endpoint, {
    method: 'POST',
    headers: { authorization: basic(app.clientId, app.clientSecret) },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: answer.get('code') as string,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }),
  })
  t.equal(response.status, 200)
  const token = await response.json()
  t.match(token, { token_type: 'Bearer', user: { name: 'Grace', email: 'grace@example.org' } })

  // 4. And asks who the player is.
  const userinfo = await fetch(server.userinfo_endpoint, { headers: { authorization: `Bearer ${token.access_token}` } })
  t.match(await userinfo.json(), { sub: token.user.id, name: 'Grace' })
})

interface Page {
  url: string
  text: string
}

/** As much of a browser as forms and redirects need: cookies of one site, hidden fields, Origin. */
class Browser {
  readonly #portal: string
  #cookie = ''

  constructor(portal: string) {
    this.#portal = portal
  }

  async open(url: string, form?: URLSearchParams): Promise<Page> {
    const own = new URL(url).origin === this.#portal
    const response = await fetch(url, {
      redirect: 'manual',
      headers: own ? { cookie: this.#cookie, ...(form ? { origin: this.#portal } : {}) } : {},
      ...(form ? { method: 'POST', body: form } : {}),
    })
    const [cookie] = response.headers.getSetCookie()
    if (own && cookie) this.#cookie = cookie.split(';', 1)[0] as string
    const location = response.headers.get('location')
    return location ? this.open(new URL(location, url).href) : { url, text: await response.text() }
  }

  submit({ url, text }: Page, fields: Record<string, string>): Promise<Page> {
    const form = /<form class[^>]*action="([^"]+)".*?<\/form>/s.exec(text)
    const hidden = [...(form?.[0] ?? '').matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
    const values = hidden.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')])
    return this.open(
      new URL(form?.[1] ?? '', url).href,
      new URLSearchParams([...values, ...Object.entries(fields)] as [string, string][]),
    )
  }
}
