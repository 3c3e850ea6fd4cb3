import type { NetworkInterfaceInfo } from 'node:os'
import t from 'tap'
import { lanAddresses } from '../../config/lan.ts'
import { plugins } from '../../plugins/index.ts'
import { complaints, load } from './kit.ts'

const at = (address: string, family: 'IPv4' | 'IPv6' = 'IPv4', internal = false): NetworkInterfaceInfo =>
  ({ address, family, internal, netmask: '', mac: '', cidr: null, scopeid: 0 }) as NetworkInterfaceInfo

const LOOPBACK = { lo: [at('127.0.0.1', 'IPv4', true), at('::1', 'IPv6', true)] }
const LAPTOP = {
  ...LOOPBACK,
  docker0: [at('172.17.0.1')],
  tun0: [at('10.8.0.6')],
  wlp3s0: [at('192.168.1.20'), at('fe80::1', 'IPv6')],
}
const lan = { env: { SERVICE_LAN__ENABLED: 'true' }, plugins }

t.test('cable and Wi-Fi come before containers, tunnels, public and self-assigned addresses', async (t) => {
  const order = (networks: Parameters<typeof lanAddresses>[0]) => lanAddresses(networks).map(({ address }) => address)
  t.strictSame(order(LAPTOP), ['192.168.1.20', '10.8.0.6', '172.17.0.1'])
  t.strictSame(order({ eth0: [at('10.1.2.3')], 'br-f00': [at('192.168.9.1')] }), ['10.1.2.3', '192.168.9.1'])
  t.strictSame(order({ 'vEthernet (WSL)': [at('172.20.0.1')], 'Wi-Fi': [at('172.16.4.5')] }).slice(0, 1), [
    '172.16.4.5',
  ])
  t.strictSame(order({ en0: [at('169.254.3.4')], bridge100: [at('192.168.2.1')] })[0], '192.168.2.1')
  t.strictSame(order({ eth0: [at('203.0.113.7')], eth1: [at('192.168.0.4')] })[0], '192.168.0.4')
  t.strictSame(order(LOOPBACK), [])
})

t.test(
  'the LAN mode puts everything on the address of this machine, with guests and a port for each game',
  async (t) => {
    const { config } = await load(t, null, { ...lan, networks: LAPTOP })
    t.match(config, {
      listen: { host: '192.168.1.20', port: 8080 },
      portal: { url: 'http://192.168.1.20:8080' },
      studio: { url: 'http://192.168.1.20:8080' },
      games: { origins: 'port' },
      auth: { guests: true, signUp: 'open' },
      limits: { requestsPerMinute: 6000, signUpsPerMinute: 300, linksPerHour: 30, registrationsPerHour: 100 },
    })
    const secure = await load(t, 'lan: { enabled: true, https: true }\nlisten: { port: 443 }', {
      plugins,
      networks: LAPTOP,
    })
    t.equal(secure.config.portal.url, 'https://192.168.1.20', 'without a port that is the usual one')
  },
)

t.test('one of several addresses can be chosen, and only one that this machine has', async (t) => {
  const chosen = 'lan: { enabled: true, address: 10.8.0.6 }'
  t.equal((await load(t, chosen, { plugins, networks: LAPTOP })).config.listen.host, '10.8.0.6')
  t.match(await complaints(t, 'lan: { enabled: true, address: 10.9.9.9 }', { plugins, networks: LAPTOP }), [
    /gameyard.yaml:1:\d+.*this machine has no address 10.9.9.9; it has 192.168.1.20 \(wlp3s0\), 10.8.0.6 \(tun0\)/,
  ])
  t.match(await complaints(t, 'lan: { enabled: true, address: laptop }', { plugins, networks: LAPTOP }), [
    /lan.address/,
  ])
  t.match(await complaints(t, 'lan: { enabled: true }', { plugins, networks: LOOPBACK }), [/in no network; join one/])
})

t.test('what the host wrote about guests, sign-up and limits stays; another address does not', async (t) => {
  const text = `lan: { enabled: true }
portal: { url: "http://localhost:8080", name: Jam }
auth: { guests: false, signUp: invite }
limits: { requestsPerMinute: 50 }`
  const { config, problems } = await load(t, text, { plugins, networks: LAPTOP })
  t.match(config, {
    portal: { url: 'http://192.168.1.20:8080', name: 'Jam' },
    auth: { guests: false, signUp: 'invite' },
    limits: { requestsPerMinute: 50 },
  })
  t.ok(
    problems.some(({ message }) => /in the LAN mode the portal is at/.test(message)),
    'and a warning says so',
  )
})

t.test('https without the LAN mode is pointed out', async (t) => {
  const { problems, config } = await load(t, 'lan: { https: true }', { plugins, networks: LAPTOP })
  t.match(problems, [{ severity: 'warning', message: /LAN mode only/ }])
  t.match(config.portal.url, /^http:/)
})
