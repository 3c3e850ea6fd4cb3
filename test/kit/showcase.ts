import type { Test } from 'tap'
import { newId } from '../../core/ids.ts'
import { createLog } from '../../core/observe/log.ts'
import { LogTail } from '../../core/observe/log-tail.ts'
import { build, deploy } from '../plugins/deploy/build.ts'
import { startDns } from './dns.ts'
import { type Platform, type PlayerClient, startPlatform } from './platform.ts'
import {
  addAssets,
  addBlenderJobs,
  addBoards,
  addDomains,
  addErrors,
  addGamesOfEveryState,
  addInvitation,
  addQuestions,
  addReports,
  addRoomScript,
  addSaves,
  LEGAL,
  PICTURE,
} from './showcase-contents.ts'

export interface Showcase {
  platform: Platform
  /** Operates the server and makes games. */
  host: PlayerClient
  /** Has just signed up. */
  newcomer: PlayerClient
  /** The game with the most data. */
  slug: string
  /** Addresses that are known only at run time. */
  found: {
    /** The host's Blender jobs: completed, failed, running, queued, cancelled. */
    jobs: string[]
    /** The paths of questions to a newcomer. */
    questions: string[]
    /** The page of the host's saves, and of one of them. */
    saves: string[]
    invitation: string
  }
}

const GAMES = [
  { title: 'Rooftop Relay', tags: ['co-op', 'running'], plays: 1284, playing: 6 },
  { title: 'Ridge Runner', tags: ['running', 'solo'], plays: 412, playing: 0 },
  { title: 'Four of a Mind', tags: ['puzzle', 'duel'], plays: 96, playing: 2 },
  { title: 'Sonar', tags: ['co-op'], plays: 2210, playing: 4 },
  { title: 'Ball & Block', tags: ['physics', 'puzzle'], plays: 0, playing: 0 },
  { title: 'לוח שחמט לשניים', tags: ['duel', 'board'], plays: 31, playing: 0 },
  { title: 'Raumschiffreparaturwerkstattsimulator', tags: ['space', 'simulation'], plays: 7, playing: 0 },
  { title: '星のお届けもの', tags: ['space', 'solo'], plays: 540, playing: 0 },
]

/** What some of them state about themselves. */
const FEATURES: Record<string, object> = {
  'Rooftop Relay': {
    inputs: ['keyboard', 'gamepad', 'touch'],
    players: ['local', 'online'],
    languages: ['en', 'de', 'pt-BR'],
    orientation: 'landscape',
    accessibility: ['remappable-controls', 'no-flashing', 'colour-blind-friendly'],
  },
  'לוח שחמט לשניים': { languages: ['he'], players: ['local'] },
  星のお届けもの: { languages: ['ja'], inputs: ['touch'] },
}

/** The number of reported games: two pages of the queue. */
const REPORTED_GAMES = 30

/**
 * Starts a platform with data of several months, which listens, for checks of its pages: players, games with builds,
 * plays, credits, tokens, rooms, assets, Blender jobs, domains, a failed background job. `newcomer` is a player without
 * any data.
 */
export async function openShowcase(t: Pick<Test, 'teardown'>, config: Record<string, unknown> = {}): Promise<Showcase> {
  const logTail = new LogTail()
  const log = createLog('info', { write: () => {} }, logTail)
  const dns = await startDns(t as Test)
  const platform = await startPlatform(t as Test, {
    listen: true,
    log,
    logTail,
    config: {
      plugins: { domains: { resolvers: [dns.address] } },
      portal: { designPage: true, legal: LEGAL },
      ...config,
    },
  })
  const { app, clock } = platform
  const host = await platform.admin()
  const newcomer = await platform.signUp({ name: 'Noor Haddad', email: 'noor@example.org' })
  for (const name of ['Linus', 'Grace Hopper', 'عبد الرحمن الخوارزمي', 'Ada-Marie von und zu Hohenstein-Württemberg'])
    await platform.signUp({ name })
  const program = await platform.program(host)
  const now = clock.now()
  for (const [index, { title, tags, plays, playing }] of GAMES.entries()) {
    const description = 'Run over the roofs and hand the ball on.\n\nFor two to eight players, on one keyboard or many.'
    const features = FEATURES[title] ?? {}
    const game = await platform.game(host, { title, tags, description, features })
    if (title !== 'Ball & Block') await deploy(platform, program, game.id, build(title), 'First public build')
    if (index === 1) await program.patch(`/api/games/${game.id}`, { settings: { remix: true } })
    if (index === 0) {
      await addRoomScript(platform, program, game.id)
      await addErrors(platform, (await program.get(`/api/games/${game.id}`)).body)
    }
    await app.db.execute('update games set plays = ?, sign_ins = ? where id = ?', [
      plays,
      Math.floor(plays / 3),
      game.id,
    ])
    for (let day = 0; day < 30 && plays > 0; day++) {
      const date = new Date(now.getTime() - day * 86_400_000).toISOString().slice(0, 10)
      const count = Math.round((plays / 40) * (1 + Math.sin(day * 1.7 + index)))
      await app.db.execute(
        'insert into game_days (game_id, date, plays, unique_players, sign_ins, peak_players) values (?, ?, ?, ?, ?, ?)',
        [game.id, date, count, Math.ceil(count / 2), Math.floor(count / 3), Math.ceil(count / 9)],
      )
    }
    if (playing > 0)
      await app.db.execute('insert into game_presence (game_id, node, players, seen_at) values (?, ?, ?, ?)', [
        game.id,
        'showcase',
        playing,
        new Date(now.getTime() + 3_600_000),
      ])
    if (index === 0) {
      await addBoards(platform, host, game.id)
      await app.db.execute(
        'insert into ai_generations (id, player_id, game_id, type, model, credits, date, created_at) values (?, ?, ?, ?, ?, ?, ?, ?)',
        [newId('gen', now), host.id, game.id, 'text', 'small', 38, now.toISOString().slice(0, 10), now],
      )
    }
    clock.advance(1000)
  }
  await app.credits.grant(host.id, 500, { kind: 'grant', description: 'Welcome', key: 'showcase' })
  await host.post('/api/tokens', { label: 'build server', scopes: ['games:read', 'deployments:write'] })
  await app.db.execute(
    `insert into background_jobs (id, name, key, payload, state, attempts, error, created_at)
     values (?, 'deploy/compress', 'gam_x', '{}', 'failed', 5, 'The disk is full.', ?)`,
    [newId('bgj', now), now],
  )
  const { body } = await program.get('/api/games')
  const second = body.games.find(({ title }: { title: string }) => title === 'Sonar')
  const form = new FormData()
  form.append('file', new Blob([PICTURE], { type: 'image/jpeg' }), 'photo.jpg')
  await fetch(`${platform.portal}/api/games/${second.id}/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${program.token}` },
    body: form,
  })
  const slug = 'rooftop-relay'
  await addDomains(program, dns, slug)
  await addGamesOfEveryState(platform, host, program)
  const jobs = await addBlenderJobs(platform, host)
  await addAssets(platform, host, program)
  const questions = await addQuestions(platform, host)
  await addReports(platform, host, REPORTED_GAMES)
  const saves = await addSaves(platform, host, slug)
  return { platform, host, newcomer, slug, found: { jobs, questions, saves, invitation: await addInvitation(host) } }
}

/** The pages that demonstrate the components, whose buttons have no effect. */
export const DESIGN_PAGES = ['/design', ...['start', 'thing', 'forms', 'question'].map((part) => `/design/${part}`)]

/** Returns every page with its own address, grouped by viewer: visitor, newcomer, host. */
export const pagesOf = ({ platform, slug, host, newcomer, found }: Showcase) => ({
  guest: [
    '/',
    '/catalog',
    '/catalog?tag=puzzle',
    '/catalog?input=touch&language=ja',
    `/games/${slug}`,
    '/games/ridge-runner',
    `/games/${slug}/boards/relay`,
    `/players/${host.id}`,
    `/players/${newcomer.id}`,
    `/games/${slug}/report`,
    `/games/${slug}/report?sent=1`,
    `/players/${host.id}/report`,
    '/assets/wavy-sea/report',
    '/assets',
    '/assets?q=coast',
    '/assets/wavy-sea',
    '/assets/coast-tiles',
    '/docs',
    '/docs?q=rooms',
    '/docs/quick-start',
    '/docs/api',
    '/join',
    '/download',
    '/jam',
    '/sign-in',
    '/sign-up',
    '/reset-password',
    '/legal/terms',
    '/legal/privacy',
    found.invitation,
  ],
  newcomer: [
    '/',
    '/games',
    '/games/new',
    '/games/new/starter',
    '/games/ridge-runner/remix',
    '/assets/mine',
    '/blender',
    '/settings/tokens',
    '/settings/applications',
    '/credits',
    '/settings',
    '/settings/security',
    '/settings/connected',
    '/settings/storage',
    '/settings/messages',
    '/settings/saves',
    '/settings/ai',
    '/sign-out',
    ...found.questions,
  ],
  host: [
    '/',
    '/catalog',
    '/catalog?sort=popular',
    `/games/${slug}`,
    '/games',
    '/games/new',
    ...[
      'overview',
      'code',
      'deploys',
      'assets',
      'sign-in',
      'rooms',
      'errors',
      'scores',
      'scores/relay',
      'scores/combo',
      'analytics',
      'activity',
      'team',
      'ai',
      'settings',
      'integrate',
    ].map((tab) => `/games/${slug}/${tab}`),
    ...['stolen-faces', 'night-shift', 'lantern-maze', 'coin-clicker'].map((game) => `/games/${game}/overview`),
    '/games/lantern-maze',
    '/games/ball-block/overview',
    '/games/ball-block/deploys',
    '/assets',
    '/assets/mine',
    '/assets/new',
    `/games/${slug}/settings/domains`,
    '/games/secret-garden/settings',
    '/games/secret-garden',
    '/assets/wavy-sea',
    '/assets/coast-tiles',
    '/assets/fence-by-the-water',
    '/assets/wavy-sea/edit',
    '/blender',
    '/blender/new',
    '/blender/new?template=collectible',
    ...found.jobs,
    '/playground',
    '/settings/tokens',
    '/settings/applications',
    '/settings/applications/new',
    '/docs/rooms',
    '/jam',
    '/settings',
    '/settings/security',
    '/settings/connected',
    '/settings/storage',
    '/settings/messages',
    ...found.saves,
    '/credits',
    '/oauth/device',
    `/players/${host.id}`,
    '/admin',
    '/admin/players',
    '/admin/invitations',
    '/admin/games',
    '/admin/reports',
    '/admin/reports?page=2',
    '/admin/approvals',
    '/admin/audit',
    '/admin/quotas',
    `/admin/quotas/${host.id}`,
    '/admin/credits',
    '/admin/domains',
    `/admin/players/${newcomer.id}`,
    '/admin/jobs',
    '/admin/storage',
    '/admin/log',
    '/admin/config',
    '/docs',
  ],
  /** Refused or missing pages. */
  error: [
    '/nowhere',
    '/catalog?q=nothing-like-this',
    '/games/none-of-that-name',
    '/admin/games?q=nothing',
    '/admin/audit?q=nothing',
    '/admin/log?level=error',
    '/docs?q=xylophone',
    '/docs/no-such-guide',
    '/assets/no-such-asset',
    '/oauth/authorize',
    '/oauth/device?user_code=BBBB-BBBB',
    '/games/stolen-faces',
    // A game's own address shows these pages: no game, no build yet, suspended, closed.
    ...['none-of-that-name', 'ball-block', 'stolen-faces', 'night-shift'].map(
      (game) => `${platform.app.origins.game(game)}/`,
    ),
  ],
})
