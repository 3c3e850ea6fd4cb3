import { isIPv4 } from 'node:net'
import type { NetworkInterfaceInfo } from 'node:os'
import type { Findings } from './findings.ts'
import { fill } from './rules.ts'
import { isMapping } from './validate.ts'

type Networks = NodeJS.Dict<NetworkInterfaceInfo[]>

/** An address of this machine, and its network interface. */
export interface LanAddress {
  address: string
  /** Name of the interface: `wlan0`, `Wi-Fi`. */
  network: string
}

/**
 * Applies `lan.enabled`: the addresses always follow the network. Guests, sign-up and limits are set only when the
 * configuration does not set them.
 */
export function applyLan(
  values: Record<string, unknown>,
  networks: Networks,
  { error, warning }: Pick<Findings, 'error' | 'warning'>,
): void {
  const lan = values.lan
  if (!isMapping(lan)) return
  if (lan.enabled !== true) {
    if (lan.https === true)
      warning(['lan', 'https'], 'lan.https is for the LAN mode only: serve --lan, or lan.enabled: true')
    return
  }
  const address = chooseAddress(lan.address, networks, error)
  if (address === null) return
  const port = isMapping(values.listen) ? (values.listen.port ?? 8080) : 8080
  const url = `${lan.https === true ? 'https' : 'http'}://${address}:${port}`
  const portal = URL.canParse(url) ? new URL(url).origin : url // omits the default port of the scheme
  const written = isMapping(values.portal) ? values.portal.url : undefined
  if (typeof written === 'string' && written !== portal)
    warning(['portal', 'url'], `portal.url: in the LAN mode the portal is at ${portal}, not at ${written}`)
  for (const [section, key, value] of [
    ['listen', 'host', address],
    ['portal', 'url', portal],
    ['studio', 'url', portal],
    ['games', 'origins', 'port'],
  ] as const) {
    values[section] ??= {}
    if (isMapping(values[section])) values[section][key] = value
  }
  fill(values, 'auth', 'guests', true)
  fill(values, 'auth', 'signUp', 'open')
  // All visitors behind one router share one address, and thus one limit, until they sign in.
  fill(values, 'limits', 'requestsPerMinute', 6000)
  fill(values, 'limits', 'signUpsPerMinute', 300)
  fill(values, 'limits', 'linksPerHour', 30)
  fill(values, 'limits', 'registrationsPerHour', 100)
}

function chooseAddress(wanted: unknown, networks: Networks, error: Findings['error']): string | null {
  const found = lanAddresses(networks)
  if (typeof wanted !== 'string' || wanted === 'auto') {
    if (found[0]) return found[0].address
    error(['lan', 'address'], 'this machine is in no network; join one, or name the address to use: --lan 192.168.1.20')
    return null
  }
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(wanted)) return null // validation reports it
  // Loopback addresses are allowed for trials.
  if (isIPv4(wanted) && (wanted.startsWith('127.') || found.some(({ address }) => address === wanted))) return wanted
  const known = found.map(({ address, network }) => `${address} (${network})`).join(', ')
  error(['lan', 'address'], `lan.address: this machine has no address ${wanted}; it has ${known || 'none'}`)
  return null
}

/** Interfaces of virtual machines, containers and tunnels, which seldom connect to other devices in the room. */
const VIRTUAL =
  /^(docker|br-|veth|virbr|vmnet|vboxnet|lxc|lxd|cni|flannel|podman|tun|tap|utun|wg|zt|tailscale|ppp|awdl|llw|anpi)|vethernet|virtual|vmware|hyper-v|wsl|loopback/i

/**
 * Lists the addresses that reach this machine from a local network, the most likely first: cable and Wi-Fi before
 * virtual networks and tunnels, private ranges before public ones, 192.168 before 10 before 172.
 */
export function lanAddresses(networks: Networks): LanAddress[] {
  const found = Object.entries(networks).flatMap(([network, addresses = []]) =>
    addresses
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => ({ address, network })),
  )
  return found.toSorted((a, b) => rank(a) - rank(b))
}

function rank({ address, network }: LanAddress): number {
  const range = [/^192\.168\./, /^10\./, /^172\.(1[6-9]|2\d|3[01])\./].findIndex((pattern) => pattern.test(address))
  const selfAssigned = address.startsWith('169.254.')
  return (selfAssigned ? 100 : 0) + (VIRTUAL.test(network) ? 10 : 0) + (range === -1 ? 5 : range)
}
