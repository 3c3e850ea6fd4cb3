import t from 'tap'
import { complaints, load } from './kit.ts'

const addresses = async (t: Parameters<typeof load>[0], text: string) => {
  const { portal, studio, games } = (await load(t, text)).config
  return [portal.url, studio.url, games.domain]
}

t.test('addresses that nobody set follow those that somebody did', async (t) => {
  const local = (port: number) => [`http://localhost:${port}`, `http://localhost:${port}`, `localhost:${port}`]
  t.strictSame(await addresses(t, ''), local(8080))
  t.strictSame(await addresses(t, 'listen: { port: 9000 }\n'), local(9000))
  t.strictSame(await addresses(t, 'listen: { port: 9000 }\nportal: { url: "http://localhost" }\n'), [
    'http://localhost',
    'http://localhost',
    'localhost',
  ])
  t.strictSame(await addresses(t, 'portal: { url: https://example.org }\ngames: { domain: example-games.net }\n'), [
    'https://example.org',
    'https://example.org',
    'example-games.net',
  ])
  t.strictSame(await addresses(t, 'studio: { url: "http://studio.localhost:8080" }\n'), [
    'http://localhost:8080',
    'http://studio.localhost:8080',
    'localhost:8080',
  ])
})

t.test('addresses are written as browsers send them', async (t) => {
  for (const [portal, domain, ...expected] of [
    ['https://Yard.Example.org', 'Games.Example', 'https://yard.example.org', 'games.example'],
    ['https://yard.example.org/', 'games.example', 'https://yard.example.org', 'games.example'],
    ['HTTPS://yard.example.org:443', 'games.example:443', 'https://yard.example.org', 'games.example'],
    ['http://yard.example.org:80/', 'games.example:80', 'http://yard.example.org', 'games.example'],
    ['https://yard.example.org:8443', 'games.example:8443', 'https://yard.example.org:8443', 'games.example:8443'],
    [
      'https://münchen.example',
      'spiele.münchner.example',
      'https://xn--mnchen-3ya.example',
      'spiele.xn--mnchner-n2a.example',
    ],
  ] as const) {
    const [url, studio, games] = await addresses(t, site(portal, domain))
    t.strictSame([url, games], expected, portal)
    t.equal(studio, url, 'the Studio follows')
  }
  const { portal, games } = (
    await load(
      t,
      'portal: { formerUrls: ["https://Old.Example.org:443/"] }\ngames: { formerDomains: ["Old-Games.example:443"] }\n',
    )
  ).config
  t.strictSame([portal.formerUrls, games.formerDomains], [['https://old.example.org'], ['old-games.example']])
  for (const wrong of ['yard.example.org', 'https://yard.example.org/path', 'ftp://yard.example.org', 'https://'])
    t.match((await complaints(t, site(wrong, 'games.example')))[0], /portal\.url: expected/, wrong)
})

const site = (portal: string, domain: string, more = '') =>
  `portal: { url: "${portal}" }\ngames: { domain: "${domain}"${more} }\n`

t.test('games on the domain of the portal are refused', async (t) => {
  for (const [portal, domain] of [
    ['https://example.org', 'example.org'],
    ['https://www.example.org', 'games.example.org'],
    ['https://play.games.example.org', 'example.org:8443'],
    ['http://192.168.1.5:8080', '192.168.1.5:8080'],
    ['http://jam:8080', 'jam:8080'],
    ['https://example.org', 'example.org.'],
  ] as const) {
    const [line, ...more] = await complaints(t, site(portal, domain))
    t.match(
      line,
      /^gameyard\.yaml:2:18 {2}games\.domain: \S+ shares its domain with \S+, so any game could set cookies/,
    )
    t.strictSame(more, [])
  }
})

t.test('another domain, this machine, and an express permission are fine', async (t) => {
  t.strictSame(await complaints(t, site('https://example.org', 'example-games.net')), [])
  t.strictSame(await complaints(t, site('https://www.example.org', 'example-games.org')), [])
  t.strictSame(await complaints(t, site('http://localhost:8080', 'localhost:8080')), [])
  t.strictSame(await complaints(t, site('http://127.0.0.1:8080', 'localhost:8080')), [])
  const { problems } = await load(t, site('http://jam.lan', 'jam.lan', ', allowSameSite: true'))
  t.match(problems, [
    { severity: 'warning', key: 'games.domain', message: /can interfere with the cookies of jam\.lan/ },
  ])
})

t.test("the Studio's domain is none for games either", async (t) => {
  const text = `${site('https://example.org', 'example-games.net')}studio: { url: https://studio.example-games.net }\n`
  t.match(await complaints(t, text), [/shares its domain with studio\.example-games\.net/])
})

t.test('games on this machine only are no use to a portal that is elsewhere', async (t) => {
  t.match(await complaints(t, 'portal: { url: https://example.org }\n'), [
    /games\.domain: localhost is only this machine, yet players come to example\.org/,
  ])
})

t.test('believing every proxy is a warning', async (t) => {
  t.match((await load(t, 'trustProxy: true\n')).problems, [{ severity: 'warning', key: 'trustProxy', line: 1 }])
  t.strictSame((await load(t, 'trustProxy: [127.0.0.1]\n')).problems, [])
})
