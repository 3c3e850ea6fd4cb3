import { lookup as systemLookup } from 'node:dns'
import { request } from 'node:https'
import type { LookupFunction } from 'node:net'
import { BlockList, isIP } from 'node:net'
import { OAuthError } from '../oauth/errors.ts'

const MOST_BYTES = 64 * 1024
const LONGEST_MS = 3000

/** How documents are fetched; tests admit addresses of this machine. */
export interface MetadataSource {
  /** Default: only addresses of the public internet. */
  admits?: (address: string) => boolean
  lookup?: LookupFunction
  /** Certificates to trust in addition. */
  ca?: string
}

/**
 * Fetches the metadata document of a client. The address comes from a stranger, so the server must not become a way
 * into its own network: only https, only public addresses (checked when the connection is made, so that a name can't
 * change in between), no redirect, at most 64 KiB in at most 3 seconds.
 *
 * @throws OAuthError `invalid_client` saying why; it quotes no part of the answer
 */
export async function fetchMetadata(url: string, source: MetadataSource = {}): Promise<Record<string, unknown>> {
  const text = await fetchText(url, source).catch((error: Error) => {
    throw new OAuthError('invalid_client', `The metadata document of the client cannot be read: ${reasonOf(error)}.`)
  })
  try {
    const document = JSON.parse(text)
    if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document
  } catch {}
  throw new OAuthError('invalid_client', 'The metadata document of the client is not a JSON object.')
}

class Refused extends Error {}
const reasonOf = (error: Error): string => (error instanceof Refused ? error.message : 'its server gave no answer')

function fetchText(url: string, { admits = isPublic, lookup = systemLookup, ca }: MetadataSource): Promise<string> {
  const { hostname } = new URL(url)
  const literal = hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) && !admits(literal)) return Promise.reject(new Refused('its address is not public'))
  const guarded: LookupFunction = (name, options, done) =>
    lookup(name, { ...options, all: false }, (error, address, family) => {
      if (error) return done(error, '', 0)
      if (!admits(String(address))) return done(new Refused('its address is not public'), '', 0)
      // Node asks for a list when it tries several addresses.
      if (options.all) return done(null, [{ address: String(address), family: family ?? isIP(String(address)) }])
      done(null, address, family)
    })
  return new Promise((done, fail) => {
    const headers = { accept: 'application/json', 'user-agent': 'gameyard' }
    const asking = request(
      url,
      { headers, lookup: guarded, agent: false, signal: AbortSignal.timeout(LONGEST_MS), ...(ca ? { ca } : {}) },
      (response) => {
        if (response.statusCode !== 200) {
          response.destroy()
          return fail(new Refused(`its server answered ${response.statusCode}`))
        }
        if (!/^application\/([a-z.-]+\+)?json\b/i.test(response.headers['content-type'] ?? '')) {
          response.destroy()
          return fail(new Refused('it is not JSON'))
        }
        const pieces: Buffer[] = []
        let bytes = 0
        response.on('data', (piece: Buffer) => {
          pieces.push(piece)
          bytes += piece.length
          if (bytes > MOST_BYTES) response.destroy(new Refused('it has more than 64 KiB'))
        })
        response.on('end', () => done(Buffer.concat(pieces).toString('utf8')))
        response.on('error', fail)
      },
    )
    asking.on('error', fail)
    asking.end()
  })
}

/** Everything that is no unicast address of the public internet (RFC 6890). */
const PRIVATE = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  PRIVATE.addSubnet(net, bits, 'ipv4')
}
/** Of IPv6 only 2000::/3 is public, without the parts that carry an IPv4 address or are documentation. */
const PUBLIC_V6 = new BlockList()
PUBLIC_V6.addSubnet('2000::', 3, 'ipv6')
for (const [net, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  PRIVATE.addSubnet(net, bits, 'ipv6')
}

/** Whether an IP address belongs to the public internet. */
export function isPublic(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !PRIVATE.check(address, 'ipv4')
  return family === 6 && PUBLIC_V6.check(address, 'ipv6') && !PRIVATE.check(address, 'ipv6')
}
