import t from 'tap'
import { Origins } from '../../../core/origins/origins.ts'

const origins = new Origins({
  portal: { url: 'https://play.example.org', formerUrls: [], name: 'Yard' },
  studio: { url: 'https://studio.example.org' },
  games: { domain: 'games.example.net', allowSameSite: false },
} as never)

t.test('a Host header names one site, or none', async (t) => {
  const cases: [string, object][] = [
    ['play.example.org', { kind: 'portal' }],
    ['PLAY.example.org', { kind: 'portal' }],
    ['play.example.org:443', { kind: 'portal' }],
    ['play.example.org.', { kind: 'portal' }],
    ['Play.example.org.:443', { kind: 'portal' }],
    ['play.example.org:80', { kind: 'unknown' }],
    ['pong.games.example.net.:443', { kind: 'game', slug: 'pong', host: 'pong.games.example.net' }],
    ['studio.example.org', { kind: 'studio' }],
    ['pong.games.example.net', { kind: 'game', slug: 'pong', preview: null }],
    ['PONG.games.example.net', { kind: 'game', slug: 'pong', host: 'pong.games.example.net' }],
    ['pong--7k2f.games.example.net', { kind: 'game', slug: 'pong', preview: '7k2f' }],
    ['a.pong.games.example.net', { kind: 'unknown' }],
    ['games.example.net', { kind: 'alias', target: 'https://play.example.org' }],
    ['games.example.net:8080', { kind: 'unknown' }],
    ['play.example.org:8080', { kind: 'unknown' }],
    ['play.example.org.evil.test', { kind: 'unknown' }],
    ['evilplay.example.org', { kind: 'unknown' }],
    ['127.0.0.1:8080', { kind: 'address' }],
    ['[::1]:8080', { kind: 'address' }],
    ['192.168.1.20', { kind: 'address' }],
  ]
  for (const [host, site] of cases) t.match(origins.parse(host), site, host)
})

t.test('a Host header that is no host is malformed', async (t) => {
  const hosts = [
    '',
    ' ',
    'user@play.example.org',
    'play.example.org/../x',
    'play.example.org/',
    'play.example.org?x',
    'play.example.org#x',
    'play.example.org\\x',
    'pong..games.example.net',
    '.games.example.net',
    '-pong.games.example.net',
    'pong-.games.example.net',
    'play.example.org..',
    '.',
    '127.0.0.1:443:443',
    'play.example.org:',
    'play.example.org:port',
    'play.example.org:8080:8080',
    'plày.example.org',
    'play.example.org,evil.test',
    'a'.repeat(300),
  ]
  for (const host of hosts) t.equal(origins.parse(host).kind, 'malformed', JSON.stringify(host))
})

t.test('public addresses come from the configuration', async (t) => {
  t.equal(origins.game('pong'), 'https://pong.games.example.net')
  t.equal(origins.secure, true)
  t.equal(origins.shared, false)
})

t.test('names that anyone can make up are not remembered', async (t) => {
  t.equal(origins.parse('play.example.org'), origins.parse('play.example.org'))
  t.not(origins.parse('made-up.example.com'), origins.parse('made-up.example.com'))
})

t.test('with a port a game, the port names the game and the Host header still decides', async (t) => {
  const lan = new Origins({
    portal: { url: 'http://192.168.1.20:8080', formerUrls: [], name: 'Jam', legal: {}, designPage: false },
    studio: { url: 'http://192.168.1.20:8080' },
    games: { domain: 'localhost:8080', formerDomains: [], origins: 'port', publish: 'open', allowSameSite: false },
  })
  lan.assignPort('pong', 8081)
  t.equal(lan.game('pong'), 'http://192.168.1.20:8081')
  t.match(lan.parse('192.168.1.20:8081'), { kind: 'game', slug: 'pong' })
  t.match(lan.parse('192.168.1.20:8080'), { kind: 'portal' })
  t.match(lan.parse('192.168.1.20:8082'), { kind: 'address' })
  t.match(lan.parse('10.0.0.1:8081'), { kind: 'address' })
  lan.assignPort('ping', 8081)
  t.match(lan.parse('192.168.1.20:8081'), { kind: 'game', slug: 'ping' }, 'after a change of slug')
})

t.test('on a LAN the other names of the machine lead to the portal and to its games, whatever the case', async (t) => {
  const lan = new Origins({
    portal: { url: 'http://192.168.1.20:8080' },
    studio: { url: 'http://192.168.1.20:8080' },
    games: { origins: 'port' },
    lan: { enabled: true, name: 'yard' },
  } as never)
  const portal = { kind: 'alias', target: 'http://192.168.1.20:8080' }
  t.match(lan.parse('yard.local:8080'), portal)
  t.match(lan.parse('Yard.Local:8080'), portal)
  t.match(lan.parse('localhost:8080'), portal)
  t.match(lan.parse('yard.local:8081'), { kind: 'unknown' }, 'a port that no game has')
  lan.assignPort('pong', 8081)
  t.match(lan.parse('yard.local:8081'), { kind: 'alias', target: 'http://192.168.1.20:8081' })
  for (const host of ['yard.local', 'other.local:8080', 'x.yard.local:8080']) {
    t.match(lan.parse(host), { kind: 'unknown' }, host)
  }
})

t.test('a game leads to its main domain from its other addresses, a preview nowhere', async (t) => {
  const own = new Origins({
    portal: { url: 'https://play.example.org', name: 'Yard' },
    studio: { url: 'https://studio.example.org' },
    games: { domain: 'games.example.net', allowSameSite: false },
  } as never)
  own.setDomains([
    { name: 'pong.test', slug: 'pong', isPrimary: true },
    { name: 'ping.test', slug: 'pong', isPrimary: false },
  ])
  const leadsTo = (host: string) => own.movesTo(own.parse(host) as Parameters<typeof own.movesTo>[0])
  t.equal(leadsTo('pong.games.example.net'), 'https://pong.test')
  t.equal(leadsTo('ping.test'), 'https://pong.test')
  t.equal(leadsTo('pong.test'), null)
  t.equal(leadsTo('pong--7k2f.games.example.net'), null, 'a preview is shown where it is')
  t.equal(leadsTo('chess.games.example.net'), null)
})
