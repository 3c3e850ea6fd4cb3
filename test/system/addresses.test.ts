// A platform moves to other addresses, again and again; whatever was made before works wherever it is.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { publish, startDns } from '../kit/dns.ts'
import { Client, PASSWORD, startPlatform } from '../kit/platform.ts'
import { linkIn, startSmtp } from '../kit/smtp.ts'
import { until } from '../kit/until.ts'
import { deploy } from '../plugins/game-edge/kit.ts'

type Step = { name: string; portal: Record<string, unknown>; games: Record<string, unknown>; byName?: true }

const LOCAL: Step = {
  name: 'on this machine',
  portal: { url: 'http://localhost:8080' },
  games: { domain: 'localhost:8080' },
}
const lan = (address: string, formerUrls: string[]): Step => ({
  name: `on a LAN as ${address}`,
  portal: { url: `http://${address}:8080`, formerUrls },
  games: { origins: 'port', formerDomains: ['localhost:8080'] },
})
const STEPS: Step[] = [
  LOCAL,
  lan('192.168.1.20', ['http://localhost:8080']),
  lan('10.0.0.7', ['http://localhost:8080', 'http://192.168.1.20:8080']),
  {
    name: 'at a name',
    portal: { url: 'https://yard-portal.org', formerUrls: ['http://localhost:8080', 'http://10.0.0.7:8080'] },
    games: { domain: 'yard-games.net', formerDomains: ['localhost:8080'] },
    byName: true,
  },
  {
    name: 'at another name',
    portal: { url: 'https://arcade-portal.com', formerUrls: ['https://yard-portal.org', 'http://localhost:8080'] },
    games: { domain: 'arcade-games.dev', formerDomains: ['yard-games.net', 'localhost:8080'] },
    byName: true,
  },
  lan('192.168.1.20', ['https://arcade-portal.com']),
  LOCAL,
]

const pathOf = (url: string | undefined) => {
  const { pathname, search } = new URL(url as string)
  return pathname + search
}

/** Signs a player of the portal in to a game at an origin. @returns the session that the game then sees */
async function signIn(t: Test, player: Client, origin: string): Promise<unknown> {
  const { host } = new URL(origin)
  const started = await player.get('/auth/service/start?returnTo=/level', { host })
  const authorized = await player.get(pathOf(started.headers.location))
  t.equal(authorized.status, 303, `the portal takes the redirect URI at ${origin}: ${authorized.text.slice(0, 200)}`)
  const back = new URL(authorized.headers.location as string)
  t.equal(back.origin, origin)
  t.match((await player.get(pathOf(back.href), { host: back.host })).headers, { location: '/level' })
  return (await player.get('/auth/service/session', { host })).body
}

t.test('games, rooms, previews, domains, uploads and mails go along wherever the platform is', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-addresses-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const dns = await startDns(t)
  const { inbox, url: smtp } = await startSmtp(t)
  const made: { id: string; slug: string; deployId: string }[] = []
  let domain: string | null = null

  for (const [number, step] of STEPS.entries()) {
    const platform = await startPlatform(t, {
      listen: true,
      config: {
        dataDir: join(folder, 'data'),
        database: { driver: 'sqlite' },
        portal: step.portal,
        games: { allowSameSite: true, ...step.games },
        mail: { driver: 'smtp', url: smtp, from: 'Yard <yard@example.org>' },
        plugins: { domains: { resolvers: [dns.address] } },
      },
    })
    const { app, portal } = platform
    const { origins } = app
    const player = number === 0 ? await platform.signUp({ email: 'ada@example.org', name: 'Ada' }) : new Client(app)
    const account = { email: 'ada@example.org', password: PASSWORD }
    t.match(await player.post('/api/auth/sign-in', account), { status: 200 }, `${step.name}: the account signs in`)
    const program = await platform.program(player as never)

    const game = await program.post('/api/games', { title: `Game ${number}`, description: 'Made on the way.' })
    t.equal(game.status, 201)
    t.equal(game.body.oauth.redirectUri, `${origins.slugOrigin(game.body.slug)}/auth/service/callback`)
    const deployId = await deploy(platform, program, game.body.id, { 'index.html': `<h1>Game ${number}</h1>` })
    made.push({ id: game.body.id, slug: game.body.slug, deployId })

    for (const { id, slug, deployId } of made) {
      const at = origins.slugOrigin(slug)
      t.notMatch(at, /:0$/, `${step.name}: ${slug} has an origin`)
      t.match(await player.get('/', { host: new URL(at).host, headers: { accept: 'text/html' } }), { status: 200 })
      t.match(
        await signIn(t, player, at),
        { signedIn: true, user: { name: 'Ada' } },
        `${step.name}: sign-in to ${slug}`,
      )
      const { body } = await program.get(`/api/games/${id}`)
      t.match(body, { url: at, playUrl: `${portal}/games/${slug}`, manageUrl: `${portal}/games/${slug}/settings` })
      const { apps } = (await program.get('/api/oauth/apps?limit=100')).body
      const own = apps.find(({ gameId }: { gameId: string }) => gameId === id)
      t.same(
        own.redirectUris,
        origins.allOf(slug).map((origin) => `${origin}/auth/service/callback`),
      )
      t.equal(own.homepageUrl, at)
      const { previewUrl } = (await program.get(`/api/deploy/${deployId}`)).body
      t.equal(previewUrl === null, origins.byPort)
      if (previewUrl) {
        t.equal((await player.get('/', { host: new URL(previewUrl).host })).status, 200)
        t.match(await signIn(t, player, previewUrl), { signedIn: true }, `${step.name}: sign-in to a preview`)
      }
      t.equal(await enter(platform, player, at), 101, `${step.name}: a room of ${slug}`)
    }
    const connected = await player.get('/settings/connected')
    for (const { slug } of made) t.match(connected.text, `href="${origins.game(slug)}"`)

    if (step.byName) {
      const id = made[0]?.id ?? ''
      if (!domain) {
        domain = 'play.example.com'
        const added = await program.post(`/api/games/${id}/domains`, { name: domain })
        publish(dns, added.body.records)
        t.match((await program.post(`/api/games/${id}/domains/${domain}/verify`)).body, { state: 'verified' })
      }
      t.match(await signIn(t, player, `https://${domain}`), { signedIn: true }, `${step.name}: sign-in at the domain`)
    }

    const earlier = inbox.length
    await player.submit('/reset-password', { email: 'ada@example.org' })
    await until(() => inbox.length > earlier)
    const mail = inbox.at(-1) as Parameters<typeof linkIn>[0]
    t.match(mail.text, `${portal}/reset-password/`, `${step.name}: the mail leads here`)
    t.equal((await player.get(linkIn(mail))).status, 200)

    await formerAddressesLeadHere(t, platform, step, made)
    await app.close()
  }
})

/** What is answered to the upgrade of a room's socket. */
async function enter({ app }: Awaited<ReturnType<typeof startPlatform>>, player: Client, origin: string) {
  const { port } = app.server.address() as AddressInfo
  const { host } = new URL(origin)
  const cookie = [...player.cookiesOf(host)].map(([name, value]) => `${name}=${value}`).join('; ')
  const socket = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/lobby`, { origin, headers: { host, cookie } })
  socket.on('error', () => {})
  const status = await Promise.race([
    once(socket, 'open').then(() => 101),
    once(socket, 'unexpected-response').then(([, response]) => response.statusCode as number),
  ])
  socket.terminate()
  return status
}

async function formerAddressesLeadHere(
  t: Test,
  { app, stranger }: Awaited<ReturnType<typeof startPlatform>>,
  { portal, games }: Step,
  made: { slug: string }[],
) {
  const { origins } = app
  for (const url of (portal.formerUrls ?? []) as string[]) {
    const { host } = new URL(url)
    for (const path of ['/', '/games/game-0?x=%20y', '/nowhere/at/all'])
      t.match(await stranger.get(path, { host }), { status: 308, headers: { location: origins.portal + path } })
    t.match(await stranger.request('HEAD', '/catalog', undefined, { host }), { status: 308 })
    t.match(await stranger.post('/api/auth/sign-in', {}, { host }), {
      status: 421,
      body: {
        error: {
          code: 'misdirected_request',
          message: `This platform is at ${origins.portal} now; send requests there.`,
        },
      },
    })
    t.equal((await stranger.get('/healthz', { host })).status, 200, 'probes are answered at every name')
  }
  for (const domain of (games.formerDomains ?? []) as string[]) {
    for (const { slug } of made)
      t.match(
        await stranger.get('/assets/a.js?v=1', { host: `${slug}.${domain}` }),
        {
          status: 308,
          headers: { location: `${origins.game(slug)}/assets/a.js?v=1`, 'access-control-allow-origin': '*' },
        },
        `${slug}.${domain} leads to the game`,
      )
    t.equal((await stranger.post('/auth/service/logout', {}, { host: `${made[0]?.slug}.${domain}` })).status, 421)
    t.equal((await stranger.get('/', { host: `a.b.${domain}` })).status, 421, 'what was no name of a game')
  }
  for (const host of [
    ...((games.formerDomains ?? []) as string[]),
    ...(games.origins ? [] : [games.domain as string]),
  ]) {
    if (host === new URL(origins.portal).host) continue // the portal itself
    t.match(await stranger.get('/docs?x=1', { host }), { headers: { location: `${origins.portal}/docs?x=1` } }, host)
  }
  t.equal((await stranger.get('/', { host: 'someone-else.org' })).status, 421)
}
