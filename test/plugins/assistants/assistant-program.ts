import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import type { Visitor } from '../../kit/visitor.ts'
import type { Era } from './client.ts'

const CALLBACK = 'http://127.0.0.1:33418/callback'

/** The program of an assistant: the official client, with what it keeps of its registration and sign-in. */
export class AssistantProgram implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK
  readonly clientMetadata = { client_name: 'Quill', redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' }
  /** The page that it opens in the browser. */
  shown: URL | null = null
  readonly #portal: string
  #registration: OAuthClientInformationMixed | undefined
  #tokens: OAuthTokens | undefined
  #verifier = ''

  constructor(portal: string) {
    this.#portal = portal
  }

  clientInformation = () => this.#registration
  saveClientInformation = (saved: OAuthClientInformationMixed) => {
    this.#registration = saved
  }
  tokens = () => this.#tokens
  saveTokens = (saved: OAuthTokens) => {
    this.#tokens = saved
  }
  redirectToAuthorization = (url: URL) => {
    this.shown = url
  }
  saveCodeVerifier = (saved: string) => {
    this.#verifier = saved
  }
  codeVerifier = () => this.#verifier

  /** Makes the access token useless, as after its time. The refresh token stays. */
  forgetAccessToken(): void {
    if (this.#tokens) this.#tokens = { ...this.#tokens, access_token: 'expired' }
  }

  /** Finds the authorization server, registers, and lets a signed-in player allow it. */
  async signIn(player: Visitor): Promise<void> {
    const transport = this.#transport()
    const refused = await this.#client('2026')
      .connect(transport)
      .catch((error: unknown) => error)
    if (!(refused instanceof UnauthorizedError) || !this.shown) throw new Error(`not asked to sign in: ${refused}`)
    const page = await player.get(this.shown.href)
    if (page.status !== 200) throw new Error(`no consent page: ${page.status}`)
    const decision = { request: this.shown.search.slice(1), decision: 'allow' }
    const { headers } = await player.submit(`${this.#portal}/oauth/consent`, decision)
    await transport.finishAuth(new URL(String(headers.location)).searchParams)
  }

  /**
   * Connects with what it keeps.
   *
   * @param ask answers a question of a tool; a program without it can't be asked
   */
  async connect(era: Era, ask?: (question: string) => boolean): Promise<Client> {
    const client = this.#client(era, Boolean(ask))
    if (ask) {
      client.setRequestHandler('elicitation/create', async ({ params }) =>
        ask(params.message) ? { action: 'accept', content: { confirm: true } } : { action: 'decline' },
      )
    }
    await client.connect(this.#transport())
    return client
  }

  #client(era: Era, canAsk = false): Client {
    return new Client(
      { name: 'Quill', version: '1' },
      {
        capabilities: canAsk ? { elicitation: { form: {} } } : {},
        versionNegotiation: { mode: era === '2026' ? 'auto' : 'legacy' },
      },
    )
  }

  #transport(): StreamableHTTPClientTransport {
    return new StreamableHTTPClientTransport(new URL('/mcp', this.#portal), { authProvider: this })
  }
}
