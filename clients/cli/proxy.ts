import { CliError } from './errors.ts'

/** The proxy of a connection. */
export interface HttpProxy {
  /** The variable that names it. */
  name: string
  /** With the name and password of the user, if it has them. */
  url: URL
}

/**
 * Returns the proxy that the environment names for an address; null for a direct connection.
 *
 * @throws CliError for a value that names no http proxy
 */
export function proxyFor(address: URL, env: NodeJS.ProcessEnv): HttpProxy | null {
  const upper = address.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const name = [upper.toLowerCase(), upper].find((each) => env[each]?.trim())
  if (name === undefined || isExempt(address, env.no_proxy ?? env.NO_PROXY ?? '')) return null
  return { name, url: parse(name, env[name]?.trim() ?? '') }
}

/** Shows a proxy to people, without its password. */
export const describeProxy = ({ url }: HttpProxy): string => url.host

function parse(name: string, value: string): URL {
  const [, scheme = 'http', rest = ''] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.*)$/is.exec(value) ?? []
  if (!/^https?$/i.test(scheme)) {
    throw new CliError(`${name} names a ${scheme} proxy, and this program knows only http proxies.`, {
      code: 'proxy',
      hint: `Name an http proxy (http://host:port), or exempt the platform: NO_PROXY=its-host`,
    })
  }
  // A password may have any character. What follows the last @ is the host.
  const at = rest.lastIndexOf('@')
  const host = rest.slice(at + 1)
  const [user = '', ...password] = at < 0 ? [] : rest.slice(0, at).split(':')
  const credentials = at < 0 ? '' : `${encode(user)}:${encode(password.join(':'))}@`
  const whole = `${scheme}://${credentials}${host}`
  if (URL.canParse(whole) && new URL(whole).hostname !== '') return new URL(whole)
  throw new CliError(`${name} is no address of a proxy.`, { code: 'proxy', hint: 'It looks like http://host:3128' })
}

/** Percent-encodes a part, of which some characters may be encoded already. */
function encode(part: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(part))
  } catch {
    return encodeURIComponent(part)
  }
}

/** Whether a list such as `localhost,.example.org,10.0.0.1:8080` names the host. A name includes those below it. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const own = port || (protocol === 'https:' ? '443' : '80')
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true
    const [, name = '', only] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
    const host = name.replace(/^\*?\./, '')
    return host !== '' && (only === undefined || only === own) && (hostname === host || hostname.endsWith(`.${host}`))
  })
}
