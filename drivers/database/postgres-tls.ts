import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { StartupError } from '../../core/errors.ts'

type Ssl = 'off' | 'on' | 'unverified'

/** What `sslmode` of an address asks for at least. The names are those of libpq, and `no-verify` of node-postgres. */
const MODES: Record<string, Ssl | 'forbidden'> = {
  disable: 'forbidden',
  allow: 'off',
  prefer: 'unverified',
  require: 'unverified',
  'no-verify': 'unverified',
  'verify-ca': 'on',
  'verify-full': 'on',
}
const STRICTNESS: Ssl[] = ['off', 'unverified', 'on']
/** The parameters of an address that are about encryption. node-postgres would prefer them to everything else. */
const PARAMETERS = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat']

/**
 * Returns how to encrypt the connections to PostgreSQL: the stricter of `database.ssl` and of `sslmode` in the address.
 * An address with `sslmode=require` alone has the certificate verified too, as node-postgres does it.
 *
 * @param address is changed: it loses its parameters about encryption
 * @param ca certificates in PEM that are trusted instead of those of the system
 * @throws StartupError for a contradiction, an unknown mode or a file that can't be read
 */
export function takeTls(address: URL, { ssl, ca }: { ssl: Ssl; ca: string | undefined }): false | ConnectionOptions {
  const parameters = address.searchParams
  const mode = parameters.get('sslmode')
  const read = (name: string): string | undefined => {
    const file = parameters.get(name)
    if (file === null) return undefined
    try {
      return readFileSync(file, 'utf8')
    } catch (error) {
      throw new StartupError(`${name} in database.url: ${file} can't be read (${(error as { code?: string }).code}).`)
    }
  }
  const asked = mode === null ? modeOfFlag(parameters.get('ssl')) : MODES[mode]
  if (asked === undefined)
    throw new StartupError(`database.url: sslmode=${mode} is unknown; it is one of ${Object.keys(MODES).join(', ')}.`)
  const authorities = ca ?? read('sslrootcert')
  const [cert, key] = [read('sslcert'), read('sslkey')]
  for (const name of PARAMETERS) parameters.delete(name)
  if (asked === 'forbidden') {
    if (ssl === 'off' && authorities === undefined) return false
    const other = ssl === 'off' ? 'a certificate authority' : `database.ssl: ${ssl}`
    throw new StartupError(
      `database.url has sslmode=disable, which contradicts ${other}: remove one of the two, or the connection would not be encrypted.`,
    )
  }
  // These say nothing about verification, so the configuration decides, and its default verifies.
  const fromAddress = (mode === 'require' || mode === 'prefer') && ssl === 'off' ? 'on' : asked
  const fromCa: Ssl = authorities === undefined ? 'off' : 'on'
  const strictest = STRICTNESS[Math.max(...[ssl, fromAddress, fromCa].map((one) => STRICTNESS.indexOf(one)))]
  if (strictest === 'off') return false
  return {
    // node-postgres names only hosts that are no IP addresses.
    host: address.hostname.replace(/^\[|\]$/g, ''),
    rejectUnauthorized: strictest === 'on',
    ...(authorities === undefined ? {} : { ca: authorities }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

/** Returns what `ssl=` of an address asks for, as node-postgres reads it. */
function modeOfFlag(flag: string | null): Ssl | 'forbidden' {
  if (flag === '0' || flag === 'false') return 'forbidden'
  return flag === null ? 'off' : 'on'
}
