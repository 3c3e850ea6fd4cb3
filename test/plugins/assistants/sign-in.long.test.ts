// The official client signs in with a real browser: it finds the authorization server, registers itself, and works.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import t from 'tap'
import { openBrowser } from '../../kit/browser.ts'
import { PASSWORD, startPlatform } from '../../kit/platform.ts'
import { callTool } from './client.ts'

t.test(
  'an assistant is connected with the browser, works after a restart of its program, and is disconnected',
  async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const platform = await startPlatform(t, { listen: true })
    await platform.signUp({ name: 'Ada', email: 'ada@example.org' })

    let arrived: (query: URLSearchParams) => void = () => {}
    const callback = createServer((request, response) => {
      arrived(new URL(request.url ?? '/', 'http://127.0.0.1').searchParams)
      response.end('You can close this window.')
    })
    await new Promise<void>((done) => callback.listen(0, '127.0.0.1', done))
    t.teardown(() => callback.close())
    const redirectUrl = `http://127.0.0.1:${(callback.address() as AddressInfo).port}/callback`

    let shown: URL | undefined
    let information: OAuthClientInformationMixed | undefined
    let tokens: OAuthTokens | undefined
    let verifier = ''
    const provider: OAuthClientProvider = {
      redirectUrl,
      clientMetadata: { client_name: 'Quill', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
      clientInformation: () => information,
      saveClientInformation: (saved) => {
        information = saved
      },
      tokens: () => tokens,
      saveTokens: (saved) => {
        tokens = saved
      },
      redirectToAuthorization: (url) => {
        shown = url
      },
      saveCodeVerifier: (saved) => {
        verifier = saved
      },
      codeVerifier: () => verifier,
    }
    const url = new URL('/mcp', platform.portal)
    const open = () => new StreamableHTTPClientTransport(url, { authProvider: provider })
    const first = open()
    const client = () => new Client({ name: 'Quill', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await t.rejects(client().connect(first), UnauthorizedError)
    t.equal(shown?.searchParams.get('resource'), url.href)

    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(String(shown))
    await page.getByLabel('Email').fill('ada@example.org')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: /Quill wants to use/ }).waitFor()
    const returned = new Promise<URLSearchParams>((done) => {
      arrived = done
    })
    await page.getByRole('button', { name: 'Allow' }).click()
    await first.finishAuth(await returned)

    const connected = client()
    await connected.connect(open())
    t.match(await callTool(connected, 'game_create', { title: 'Dots', description: '' }), { json: { slug: 'dots' } })
    await connected.close()
    const again = client()
    await again.connect(open())
    t.match((await callTool(again, 'games_list')).json.games, [{ slug: 'dots' }])
    await again.close()

    await page.goto(`${platform.portal}/settings/connected`)
    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByText('It no longer has access.').waitFor()
    const gone = client()
    await t.rejects(gone.connect(open()), /refresh token is not valid/)
  },
)
