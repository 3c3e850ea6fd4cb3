import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import type { Check } from '../../clients/cli/doctor.ts'
import type { Config } from '../../core/config.ts'
import { checkPair, daysLeft, EXPIRY_WARNING_DAYS, endsIn, readPair } from '../../core/origins/certificate-files.ts'

const PATIENCE_MS = 10_000
const DAY_MS = 86_400_000

const isHere = (host: string) => host === 'localhost' || host.endsWith('.localhost') || /^127\.|^\[?::1/.test(host)
const ok = (name: string, message: string): Check => ({ name, status: 'ok', message })

/** Checks that the names of the portal and of games resolve. */
export async function names({ portal, studio, games }: Config): Promise<Check[]> {
  const domain = games.domain.replace(/:\d+$/, '')
  const hosts = new Map([
    ['Portal name', new URL(portal.url).hostname],
    ['Studio name', new URL(studio.url).hostname],
  ])
  if (hosts.get('Studio name') === hosts.get('Portal name')) hosts.delete('Studio name')
  // No game has this random name, so only a wildcard record answers for it.
  if (games.origins === 'subdomain') hosts.set('Game names', `doctor-${randomBytes(4).toString('hex')}.${domain}`)
  return Promise.all(
    [...hosts].map(async ([name, host]): Promise<Check> => {
      if (isHere(host)) return ok(name, `${host.replace(/^doctor-[^.]+/, '*')} is this machine`)
      const found = await lookup(host, { all: true }).catch(() => [])
      const shown = name === 'Game names' ? `*.${domain}` : host
      if (found.length > 0) return ok(name, `${shown} is ${found.map(({ address }) => address).join(', ')}`)
      const hint = `Add an A record (and AAAA) for ${shown} that names this server's address.`
      return { name, status: 'failed', message: `${shown} has no address in the DNS`, hint }
    }),
  )
}

/** Checks that the certificate of `listen.tls` covers every name of the platform, and when it expires. */
export async function certificateFiles({ listen, portal, studio, games }: Config): Promise<Check[]> {
  if (!listen.tls.cert) return []
  const name = 'Certificate files'
  const pair = await readPair(listen.tls)
  const certificate = checkPair(pair, listen.tls)
  const days = daysLeft(pair.cert, new Date())
  if (days < EXPIRY_WARNING_DAYS) {
    const message = `the certificate in ${listen.tls.cert} ${endsIn(days)}`
    const hint = 'Renew it; the platform reads the new files automatically.'
    return [{ name, status: days < 0 ? 'failed' : 'warning', message, hint }]
  }
  const hosts = [portal.url, studio.url].map((url) => new URL(url).hostname)
  if (games.origins === 'subdomain') hosts.push(`any-game.${games.domain.replace(/:\d+$/, '')}`)
  const named = (host: string) => (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined
  const missing = hosts.find((host) => !named(host.replace(/[[\]]/g, '')))
  if (missing) {
    const message = `the certificate is not for ${missing.replace(/^any-game\./, '*.')}`
    return [{ name, status: 'failed', message, hint: 'Get one with every name of the platform in it.' }]
  }
  return [ok(name, `good for ${days} days`)]
}

/** Checks that the plain http port redirects to https. */
export async function plainHttp({ portal: { url }, listen }: Config): Promise<Check[]> {
  const { redirectPort } = listen.tls
  if (!redirectPort) return []
  const name = 'Plain http'
  // A request by address gets the portal's redirect.
  const own = /^(?:0\.0\.0\.0|::)$/.test(listen.host) ? '127.0.0.1' : listen.host
  const host = own.includes(':') ? `[${own}]` : own
  const asked = { redirect: 'manual', signal: AbortSignal.timeout(PATIENCE_MS) } as const
  const answer = await fetch(`http://${host}:${redirectPort}/`, asked).catch(() => null)
  if (answer?.headers.get('location')?.startsWith(`${url}/`)) return [ok(name, `port ${redirectPort} leads to ${url}`)]
  const message = answer
    ? `another program answers on port ${redirectPort}`
    : `nothing answers on port ${redirectPort} of ${host}`
  const hint = answer ? 'Stop that program, or choose another listen.tls.redirectPort.' : 'Start it: gameyard serve.'
  return [{ name, status: 'warning', message, hint }]
}

/** The answer of `/readyz`. */
interface Readiness {
  checks?: Record<string, string>
  /** What the platform has noticed about its machine, such as threads or the disk. */
  details?: Record<string, string>
}

/** Checks that the portal answers at its public address. The response also shows its clock and its certificate. */
export async function portal({ portal: { url }, listen }: Config): Promise<Check[]> {
  const checks: Check[] = []
  const { hostname, port, protocol } = new URL(url)
  if (protocol === 'https:' && !isHere(hostname)) checks.push(await certificate(hostname, Number(port) || 443))
  try {
    // With a Unix socket the proxy has the port.
    const host = isHere(hostname) && !listen.socket ? `http://127.0.0.1:${listen.port}` : url
    // On this machine the portal's certificate may be one that only browsers trust, so a redirect there is not followed.
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const answer = await fetch(`${host}/readyz`, { signal, redirect: isHere(hostname) ? 'manual' : 'follow' })
    if (answer.headers.get('location')?.startsWith(`${url}/`)) return [...checks, ok('Platform', `${url} answers`)]
    const body = (await answer.json().catch(() => ({}))) as Readiness
    const broken = Object.entries(body.checks ?? {}).filter(([, state]) => state !== 'ok')
    const noted = Object.entries(body.details ?? {}).filter(([, state]) => state !== 'ok')
    if (answer.status === 200 && body.checks && noted.length > 0)
      checks.push({
        name: 'Platform',
        status: 'warning',
        message: `${url} is ready, and reports ${noted.map(([name, state]) => `${name} ${state}`).join(', ')}`,
        hint: 'Its log and the overview at /admin say what to do.',
      })
    else if (answer.status === 200 && body.checks) checks.push(ok('Platform', `${url} answers, and is ready`))
    else
      checks.push({
        name: 'Platform',
        status: 'failed',
        message: body.checks
          ? `it runs, but is not ready: ${broken.map(([name, state]) => `${name} ${state}`).join(', ')}`
          : `${url} answers with ${answer.status}, and not as Gameyard does`,
        hint: body.checks ? 'Its log says more.' : 'Check the target of the proxy.',
      })
  } catch {
    checks.push({
      name: 'Platform',
      status: 'warning',
      message: `nothing answers at ${url}`,
      hint: 'Start it: gameyard serve. If it runs, check proxy and firewall.',
    })
  }
  return checks
}

async function certificate(host: string, port: number): Promise<Check> {
  const name = 'Certificate'
  const hint = 'Check the certificate of your proxy (docs/self-hosting.md).'
  try {
    const { valid_to, issuer } = await certificateOf(host, port)
    const days = Math.floor((Date.parse(valid_to) - Date.now()) / DAY_MS)
    if (days < EXPIRY_WARNING_DAYS)
      return { name, status: 'warning', message: `that of ${host} ends in ${days} days`, hint }
    return ok(name, `${host}, by ${[issuer?.O ?? issuer?.CN].flat()[0] ?? 'somebody'}, good for ${days} days`)
  } catch (error) {
    return { name, status: 'failed', message: `that of ${host} is not good: ${(error as Error).message}`, hint }
  }
}

function certificateOf(host: string, port: number): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ host, port, servername: host, timeout: PATIENCE_MS }, () => {
      resolve(socket.getPeerCertificate())
      socket.end()
    })
    socket.on('error', reject)
    socket.on('timeout', () => socket.destroy(new Error('it does not answer')))
  })
}

/** Whether the system synchronises its clock over the network; null when the system does not report it. */
export async function isClockSynchronised(): Promise<boolean | null> {
  try {
    const { stdout } = await promisify(execFile)('timedatectl', ['show', '-p', 'NTPSynchronized', '--value'], {
      timeout: PATIENCE_MS,
    })
    return stdout.trim() === 'yes' ? true : stdout.trim() === 'no' ? false : null
  } catch {
    return null
  }
}
