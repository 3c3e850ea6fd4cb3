import type { Test } from 'tap'
import { type Client, PASSWORD, type Platform, type PlayerClient, startPlatform } from './platform.ts'
import { linkIn, startSmtp } from './smtp.ts'
import { stripeConfig } from './stripe.ts'
import type { FormAnswer, Target } from './targets.ts'
import { until } from './until.ts'

const CLUB = { issuer: 'http://127.0.0.1:9', clientId: 'yard', clientSecret: 'x', label: 'the Club' }

export interface Arrivals {
  platform: Platform
  /** The clients of the viewers, and the pages that each visits. */
  viewers: Record<string, Client | null>
  pages: Record<string, Target[]>
}

/** Starts a platform without accounts, whose log contains the link that creates the first one. */
export async function openFirstStart(t: Pick<Test, 'teardown'>): Promise<Arrivals> {
  const platform = await startPlatform(t as Test, { listen: true })
  const link = await platform.app.identity.setupUrl()
  if (!link) throw new Error('There is an administrator already.')
  const stranger = ['/', '/catalog', '/assets', '/sign-in', '/sign-up', new URL(link).pathname]
  return { platform, viewers: { stranger: null }, pages: { stranger } }
}

/**
 * An empty platform that sends mail, sells credits and accepts accounts of other providers. It shows the host's first
 * pages, and the targets of the links for sign-up, password reset and address verification.
 */
export async function openArrivals(t: Pick<Test, 'teardown'>): Promise<Arrivals> {
  const { inbox, url } = await startSmtp(t as Test)
  const mail = { driver: 'smtp', url, from: 'yard@example.org' }
  const auth = { verifyEmail: true, guests: true, providers: { club: CLUB } }
  const config = { mail, auth, payments: stripeConfig(), limits: { rateLimits: false } }
  const platform = await startPlatform(t as Test, { listen: true, config })
  const { stranger } = platform
  /** Returns the path of the link in the mail that a request sends. */
  const linkAfter = async (asked: Promise<{ status: number; text: string }>): Promise<string> => {
    const before = inbox.length
    const { status, text } = await asked
    if (status !== 202) throw new Error(`No mail, but ${status}: ${text}`)
    return linkIn(await until(() => inbox[before]))
  }

  const host = await platform.admin()
  const account = { name: 'Noor Haddad', email: 'noor@example.org', password: PASSWORD }
  const confirm = await linkAfter(stranger.submit('/sign-up', account))
  const reset = await linkAfter(stranger.submit('/reset-password', { email: host.account.email }))
  const verify = await linkAfter(host.submit('/settings/verify-email', {}))
  const renew = await linkAfter(
    host.submit('/settings/email', { email: 'ada@yard.example.org', password: host.account.password }),
  )
  const connect = await connectPath(platform, host)
  return {
    platform,
    viewers: { stranger: null, host, error: host },
    pages: {
      stranger: ['/sign-in', '/sign-up', confirm, reset, ...answersFor(account)],
      host: [
        connect,
        verify,
        renew,
        '/settings',
        '/settings/security',
        '/credits',
        '/games',
        '/jam',
        '/admin',
        '/admin/players',
        '/admin/invitations',
        '/admin/games',
        '/admin/credits',
        '/admin/domains',
        '/admin/jobs',
        '/admin/log',
        ...HOST_ANSWERS,
      ],
      error: ['/setup/used-up', '/reset-password/used-up', '/confirm/used-up', '/connect/used-up'],
    },
  }
}

/** Returns the submissions of a visitor's forms, both refused and accepted. */
const answersFor = ({ name, email, password }: { name: string; email: string; password: string }): FormAnswer[] => [
  { path: '/sign-in', press: 'Sign in', status: 401, fill: { Email: email, Password: 'a wrong one' } },
  { path: '/sign-in', press: 'Play as a guest', status: 400 },
  { path: '/sign-up', press: 'Create account', status: 400 },
  { path: '/sign-up', press: 'Create account', status: 202, fill: { Name: name, Email: email, Password: password } },
  { path: '/reset-password', press: 'Send the link', status: 202, fill: { Email: email } },
]

/** Submissions of the host's forms. A new token and a new invitation appear only once. */
const HOST_ANSWERS: FormAnswer[] = [
  { path: '/games/new', press: 'Create the game', status: 400 },
  { path: '/admin/invitations', press: 'Create the links', status: 201 },
  { path: '/settings/tokens', press: 'Create token', status: 400 },
  { path: '/settings/tokens', press: 'Create token', status: 200, fill: { Label: 'build server' } },
]

/** Returns the path that asks a player whether an external account with the same email address is theirs. */
async function connectPath({ app }: Platform, { account }: PlayerClient): Promise<string> {
  const { upstream } = app.identity
  const outcome = await upstream.arrive(
    upstream.provider('club'),
    { subject: 'u1', name: account.name, email: account.email, emailVerified: true },
    { currentId: null, returnTo: '/' },
  )
  if (!('question' in outcome)) throw new Error('Nobody was asked.')
  return `/connect/${outcome.question}`
}
