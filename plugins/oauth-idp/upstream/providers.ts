import type { FastifyOAuth2Options, OAuth2Namespace } from '@fastify/oauth2'
import Fastify from 'fastify'
import type { ProviderConfig } from '../config.ts'
import { UpstreamFailed } from '../errors.ts'
import { LIBRARY_COOKIES } from './flow-cookies.ts'

/** A provider in the form that the sign-in page shows. */
export interface ProviderChoice {
  /** Its key in `auth.providers`. */
  name: string
  label: string
}

/** A provider's data about an account. */
export interface UpstreamProfile {
  /** The account id, which is stable and never reused. */
  subject: string
  name: string
  email: string | null
  emailVerified: boolean
}

export interface Provider extends ProviderChoice {
  /**
   * Returns the flow of @fastify/oauth2. Discovery runs at the first use, so that an absent provider does not prevent
   * the start.
   */
  connect(): Promise<OAuth2Namespace>
  profile(flow: OAuth2Namespace, accessToken: string): Promise<UpstreamProfile>
}

type Json = Record<string, unknown>

const LABELS: Record<string, string> = { github: 'GitHub', google: 'Google', discord: 'Discord' }
const ANSWER_MS = 10_000

/**
 * Creates a provider from its section of the configuration: `github`, `google` and `discord` by name, any other by its
 * OpenID Connect issuer, which the rules of the configuration require.
 */
export function providerOf(name: string, config: ProviderConfig, portalUrl: string): Provider {
  const kind = KINDS[name]?.(config) ?? oidc(config.issuer ?? '')
  const options = {
    name: 'provider',
    scope: config.scope ?? kind.scope,
    credentials: { client: { id: config.clientId, secret: config.clientSecret }, ...kind.credentials },
    ...('discovery' in kind ? { discovery: kind.discovery } : {}),
    callbackUri: `${portalUrl}/sign-in/with/${name}/callback`,
    pkce: 'S256',
    ...LIBRARY_COOKIES,
  } as FastifyOAuth2Options
  let flow: Promise<OAuth2Namespace> | undefined
  return {
    name,
    label: config.label ?? LABELS[name] ?? name,
    profile: kind.profile,
    async connect() {
      flow ??= open(options)
      try {
        return await flow
      } catch (error) {
        flow = undefined
        throw new UpstreamFailed(config.label ?? LABELS[name] ?? name).with({ cause: error })
      }
    },
  }
}

/** Creates a separate Fastify app for the library's flow without its routes. It serves nothing and starts on demand. */
async function open(options: FastifyOAuth2Options): Promise<OAuth2Namespace> {
  const holder = Fastify()
  // The import is deferred, so that only servers with a provider load the library.
  const { default: oauth2 } = await import('@fastify/oauth2')
  await holder.register(oauth2, options)
  await holder.ready()
  return (holder as unknown as { provider: OAuth2Namespace }).provider
}

interface Kind {
  scope: string[]
  credentials?: object
  discovery?: { issuer: string }
  profile: Provider['profile']
}

/** Reads the userinfo endpoint (OpenID Connect Core section 5.3) with the token that the provider just issued. */
const oidc = (issuer: string): Kind => ({
  scope: ['openid', 'profile', 'email'],
  discovery: { issuer },
  async profile(flow, accessToken) {
    const claims = (await flow.userinfo(accessToken)) as Json
    const name = [claims.name, claims.preferred_username, claims.nickname].find((value) => typeof value === 'string')
    return {
      subject: textOf(claims.sub),
      name: (name as string | undefined) ?? '',
      email: typeof claims.email === 'string' ? claims.email : null,
      // Cognito and Apple send it as a text.
      emailVerified: claims.email_verified === true || claims.email_verified === 'true',
    }
  },
})

const KINDS: Record<string, (config: ProviderConfig) => Kind> = {
  google: ({ issuer = 'https://accounts.google.com' }) => oidc(issuer),

  // `issuer` selects a GitHub Enterprise Server.
  github: (config) => {
    const issuer = withoutSlash(config.issuer ?? 'https://github.com')
    const api = issuer === 'https://github.com' ? 'https://api.github.com' : `${issuer}/api/v3`
    const paths = { authorizePath: '/login/oauth/authorize', tokenPath: '/login/oauth/access_token' }
    return {
      scope: ['read:user', 'user:email'],
      credentials: { auth: { ...paths, authorizeHost: issuer, tokenHost: issuer } },
      async profile(_flow, accessToken) {
        const [user, emails] = await Promise.all([
          ask(`${api}/user`, accessToken),
          ask(`${api}/user/emails`, accessToken),
        ])
        const primary = Array.isArray(emails) ? (emails as Json[]).find((entry) => entry.primary === true) : undefined
        return {
          subject: textOf(user.id),
          name: typeof user.name === 'string' && user.name ? user.name : textOf(user.login),
          email: typeof primary?.email === 'string' ? primary.email : null,
          emailVerified: primary?.verified === true,
        }
      },
    }
  },

  discord: (config) => {
    const issuer = withoutSlash(config.issuer ?? 'https://discord.com')
    return {
      scope: ['identify', 'email'],
      credentials: {
        auth: {
          authorizeHost: issuer,
          authorizePath: '/oauth2/authorize',
          tokenHost: issuer,
          tokenPath: '/api/oauth2/token',
        },
      },
      async profile(_flow, accessToken) {
        const user = await ask(`${issuer}/api/users/@me`, accessToken)
        return {
          subject: textOf(user.id),
          name: typeof user.global_name === 'string' ? user.global_name : textOf(user.username),
          email: typeof user.email === 'string' ? user.email : null,
          emailVerified: user.verified === true,
        }
      },
    }
  },
}

const withoutSlash = (address: string): string => address.replace(/\/+$/, '')

async function ask(url: string, accessToken: string): Promise<Json> {
  const headers = { authorization: `Bearer ${accessToken}`, accept: 'application/json', 'user-agent': 'gameyard' }
  const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) })
  if (!response.ok) throw new Error(`${url} answered ${response.status}.`)
  return (await response.json()) as Json
}

/** An id is a string or a number. Without one, no player can be identified. */
function textOf(value: unknown): string {
  if ((typeof value !== 'string' && typeof value !== 'number') || value === '')
    throw new Error('The profile has no id.')
  return String(value)
}

/** Whether a provider is known by its issuer only. */
export const needsIssuer = (name: string): boolean => !Object.hasOwn(KINDS, name)
