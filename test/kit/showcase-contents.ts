// The data of the showcase platform besides its games: assets, Blender jobs, domains, applications, invitations.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { WorkerRow } from '../../plugins/blender/entities.ts'
import { artifactKey } from '../../plugins/blender/jobs/artifacts.ts'
import { type Claim, Queue } from '../../plugins/blender/jobs/queue.ts'
import type { Reported } from '../../plugins/game-errors/schemas.ts'
import { StoredScriptLogs } from '../../plugins/multiplayer/script-logs/script-logs.ts'
import { form } from '../plugins/assets/kit.ts'
import { sheet } from '../plugins/assets/models.ts'
import { build, deploy } from '../plugins/deploy/build.ts'
import { zipOf } from '../plugins/deploy/zip-writer.ts'
import { type Dns, publish } from './dns.ts'
import { authorizeUrl, callEndpoint, decide, REDIRECT_URI, registerApp } from './oauth.ts'
import type { Client, Platform, PlayerClient } from './platform.ts'

/** Two boards: one with the scores of all players, of whom one is kept off; one that nobody is on yet. */
export async function addBoards({ app }: Platform, host: PlayerClient, gameId: string): Promise<void> {
  const fields = { order: 'asc', format: 'milliseconds', reset: 'weekly', min: 10_000 } as const
  const { board } = await app.scores.boards.put(gameId, 'relay', { title: 'Fastest relay', ...fields })
  await app.scores.boards.put(gameId, 'combo', { title: 'Longest combo', writers: 'room' })
  const players = await app.db.query<{ id: string }>('select id from players order by id')
  for (const [index, { id: playerId }] of players.entries()) {
    const score = 62_345 + index * 4111 - (index === 3 ? 4111 : 0)
    await app.scores.submit({ gameId, boardId: 'relay', playerId, score, detail: { ghost: index }, writer: 'players' })
  }
  const off = players.find(({ id }) => id !== host.id)
  if (off) await app.scores.moderation.exclude(board, off.id)
}

/** The operator's terms and privacy notice. */
export const LEGAL = {
  operator: 'Fence Post Games',
  contact: 'host@example.org',
  terms: join(import.meta.dirname, '../fixtures/legal/terms.md'),
  privacy: join(import.meta.dirname, '../fixtures/legal/privacy.md'),
}

export const PICTURE = readFileSync(join(import.meta.dirname, '../fixtures/media/photo.jpg'))

/** Adds a published model, a curated pack, and a private picture of the host. */
export async function addAssets({ portal }: Platform, host: PlayerClient, program: Client): Promise<void> {
  const model = await sheet(20)
  const put = async (file: Uint8Array, name: string, fields: Record<string, string>): Promise<string> => {
    const { payload, headers } = form(file, fields, name)
    const authorization = `Bearer ${program.token}`
    const answer = await fetch(`${portal}/api/assets`, {
      method: 'POST',
      headers: { ...headers, authorization },
      body: payload,
    })
    const body = (await answer.json()) as { slug: string }
    if (answer.status !== 201) throw new Error(`${name} was answered with ${answer.status}: ${JSON.stringify(body)}`)
    return body.slug
  }
  await put(model, 'sea.glb', {
    title: 'Wavy sea',
    tags: 'water, low-poly',
    visibility: 'public',
    license: 'CC0-1.0',
    description: 'A piece of sea that meets itself on all four sides.',
  })
  const files = ['tiles/sea.glb', 'tiles/shore.glb', 'tiles/harbour-with-a-crane-and-three-boats.glb']
  const pack = {
    ...Object.fromEntries(files.map((path) => [path, model])),
    'cover.jpg': PICTURE,
    'readme.txt': 'Hello.',
  }
  const slug = await put(zipOf(pack), 'coast.zip', {
    title: 'Coast tiles',
    tags: 'water, tiles',
    visibility: 'public',
    license: 'CC-BY-4.0',
  })
  await host.submit(`/admin/assets/${slug}/curate`, {})
  await put(PICTURE, 'fence.jpg', { title: 'Fence by the water' })
}

/** Adds Blender jobs in every state and returns their paths. It writes a worker's results through the queue itself. */
export async function addBlenderJobs({ app, clock }: Platform, owner: PlayerClient): Promise<string[]> {
  const worker = { id: 'wrk_showcase', executor: 'subprocess', capacity: 2, blenderVersion: '4.2.0' }
  await app.db.em().insert(WorkerRow, { ...worker, seenAt: new Date(clock.now().getTime() + 3_600_000) })
  const queue = new Queue(app, { queuedPerOwner: 100, runningPerOwner: 2, leaseSeconds: 3600 })
  const script = "import bpy\n\nbpy.ops.mesh.primitive_cube_add(size=2)\njob.log('a crate')\n"
  const submit = (name: string, rest: object = {}) =>
    app.blender.submit(owner.id, { name, template: 'collectible', parameters: { kind: 'star' }, ...rest })
  const claim = async (): Promise<Claim> => {
    const claim = await queue.claim()
    if (!claim) throw new Error('There is nothing to claim.')
    return claim
  }

  const completed = await submit('Golden star', { script })
  const first = await claim()
  const totals = { objects: 1, meshes: 1, materials: 2, triangles: 800, vertices: 441, images: 0 }
  const inspection = JSON.stringify({
    totals,
    warnings: [
      {
        code: 'material_differs',
        object: 'gold',
        message: 'Material gold: displacement by the shader is not exported.',
      },
    ],
  })
  const artifacts = await Promise.all(
    (
      [
        ['model.glb', 'model/gltf-binary', await sheet(20)],
        ['inspection.json', 'application/json', Buffer.from(inspection)],
      ] as const
    ).map(async ([name, contentType, bytes]) => {
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const artifact = { name, contentType, size: bytes.length, sha256 }
      await app.storage.put(artifactKey(completed.id, artifact), Readable.from([bytes]), artifact)
      return artifact
    }),
  )
  clock.advance(4200)
  await queue.finish(first, { status: 'completed', artifacts, log: 'a crate\nexported 800 triangles\n' })

  const failed = await submit('Star with too many points', { script: 'nothing_like_this()' })
  const log = 'Traceback (most recent call last):\n  File "script.py", line 1\nNameError: nothing_like_this\n'
  const message = "NameError: name 'nothing_like_this' is not defined (line 1)"
  await queue.finish(await claim(), { status: 'failed', code: 'script_error', message, log })

  const running = await submit('Potion, blue')
  await queue.report(await claim(), 0.4, 'exporting')
  const queued = await submit('Lantern')
  const cancelled = await submit('Ladder')
  await app.blender.cancel(owner.id, cancelled.id)
  return [completed, failed, running, queued, cancelled].map(({ id }) => `/blender/jobs/${id}`)
}

/** Adds a live domain, and a domain that waits for its records. */
export async function addDomains(program: Client, dns: Dns, gameId: string): Promise<void> {
  const { body: live } = await program.post(`/api/games/${gameId}/domains`, { name: 'play.example.com' })
  publish(dns, live.records)
  await program.post(`/api/games/${gameId}/domains/play.example.com/verify`)
  await program.patch(`/api/games/${gameId}/domains/play.example.com`, { primary: false })
  await program.post(`/api/games/${gameId}/domains`, { name: 'rooftop-relay-the-official-game.example.org' })
}

/** Returns the paths of questions to a player: from an application, a device, or a game for sign-out or entry. */
export async function addQuestions(platform: Platform, owner: PlayerClient): Promise<string[]> {
  const application = await registerApp(platform, owner, { name: 'Rooftop Relay for phones' })
  const kept = await registerApp(platform, owner, { name: 'Score keeper', redirectUris: [REDIRECT_URI] })
  await decide(owner, authorizeUrl(kept), 'allow')
  const device = await callEndpoint(platform.stranger, { clientId: 'gameyard-cli' }, 'device_authorization', {
    label: 'laptop at home',
    machine: 'tower.local',
  })
  const game = await platform.game(owner, { title: 'Secret Garden', visibility: 'private' })
  const { url } = await platform.app.games.memberInvitations.create(owner.id, game.id, { role: 'tester' })
  return [
    authorizeUrl(application),
    `/oauth/device?user_code=${device.body.user_code}`,
    `/oauth/logout?client_id=${application.clientId}`,
    new URL(url).pathname,
  ]
}

/** Returns the path of an invitation to the platform. */
export async function addInvitation(host: PlayerClient): Promise<string> {
  const { text } = await host.submit('/admin/invitations', { note: 'For Grace, who writes the music' })
  const path = text.match(/\/invite\/[\w-]+/)?.[0]
  if (!path) throw new Error('The page of invitations shows no link.')
  return path
}

const REPORTED = [
  { category: 'copyright', text: 'The music is from a film. I know the composer, and nobody asked her.' },
  { category: 'spam', text: 'It only shows an advertisement for a shop, and asks to install its program.' },
  { category: 'sexual', text: 'In the second level, behind the door.' },
  { category: 'other', text: 'It does not start.' },
] as const

/**
 * Reports games, a player and an asset, so that the queue has as many targets, and decides about one of them.
 *
 * @param count the number of reported games, which it creates
 */
export async function addReports(platform: Platform, owner: PlayerClient, count: number): Promise<void> {
  const { app } = platform
  const [reporter, other] = [await platform.signUp({ name: 'Rita Reports' }), await platform.signUp({ name: 'Otto' })]
  const file = (
    by: PlayerClient | null,
    kind: 'game' | 'asset' | 'player',
    id: string,
    words: (typeof REPORTED)[number] | { category: 'malware'; text: string },
  ) => app.moderation.reports.file({ kind, id }, words, { playerId: by?.id ?? null, address: '192.0.2.1' })
  const { id: harmless } = await app.games.get('ridge-runner')
  await file(reporter, 'game', harmless, REPORTED[3])
  await app.moderation.decisions.decide(harmless, { action: 'dismiss' }, { id: owner.id, role: 'admin' })
  for (let index = 0; index < count; index++) {
    const words = REPORTED[index % REPORTED.length] as (typeof REPORTED)[number]
    const { id } = await app.games.create(other.id, { title: `Reported game ${index + 1}`, description: '' })
    await file(index % 3 === 0 ? null : reporter, 'game', id, words)
  }
  await file(other, 'game', 'sonar', { category: 'malware', text: 'It asks for the password of my mail account.' })
  await file(reporter, 'game', 'sonar', REPORTED[1])
  await file(null, 'game', 'sonar', REPORTED[0])
  await file(reporter, 'asset', 'wavy-sea', REPORTED[0])
  await file(reporter, 'player', other.id, {
    category: 'malware',
    text: 'Writes to everybody:\n\nhttps://phishing.example/'.repeat(3),
  })
  await app.db.transaction((em) =>
    app.moderation.messages.sendIn(em, owner.id, {
      subject: 'About Rooftop Relay',
      text: 'Whose music is it?\n\nAnswer by mail, please.',
    }),
  )
}

/** Adds games that are suspended, closed, waiting for approval, and refused. */
export async function addGamesOfEveryState(platform: Platform, host: PlayerClient, program: Client): Promise<void> {
  const { app } = platform
  const make = async (title: string) => {
    const game = await platform.game(host, { title, description: 'Find the way out before the light is gone.' })
    await deploy(platform, program, game.id, build(title))
    return game.id as string
  }
  const suspended = await make('Stolen Faces')
  await app.games.suspensions.suspend(suspended, 'It shows the faces of people who did not agree.')
  await program.patch(`/api/games/${await make('Night Shift')}`, { playable: false })
  // The games of an administrator need no approval, so these are made to wait in the database.
  for (const [title, approval, reason] of [
    ['Lantern Maze', 'waiting', null],
    ['Coin Clicker', 'refused', 'It only links to a shop. Add a game, and we look again.'],
  ] as const) {
    const id = await make(title)
    await app.db.execute(
      "update games set approval = ?, approval_reason = ?, requested_visibility = 'public', visibility = 'private' where id = ?",
      [approval, reason, id],
    )
    await app.games.announce(await app.games.get(id))
  }
}

/** Adds saves of a player in a game: with earlier versions, and a deleted one. @returns the paths of their pages */
export async function addSaves({ app, clock }: Platform, player: PlayerClient, slug: string): Promise<string[]> {
  const game = await app.games.get(slug)
  const owner = { gameId: game.id, playerId: player.id }
  const put = async (key: string, value: string | Buffer, contentType = 'application/json') => {
    await app.saves.put(owner, key, { bytes: Buffer.from(value), contentType })
    clock.advance(1000)
  }
  for (let level = 1; level <= 4; level++) await put('progress', JSON.stringify({ level, coins: level * 120 }))
  await put('replay-of-the-longest-run-over-all-roofs.2026-11-21', Buffer.alloc(48_000), 'application/octet-stream')
  await put('settings', '{"sound":false}')
  await put('old-slot', '{"level":1}')
  await app.saves.delete(owner, 'old-slot')
  return ['/settings/saves', `/settings/saves/${game.id}/progress`]
}

const ROOM_SCRIPT = `export const settings = { tick: 20 }

const SIZE = 100
const runners = new Map()

export function join(room, player) {
  runners.set(player.id, { roof: 0, ball: false })
}

export function message(room, player, type, data) {
  if (type !== 'pass') return
  const to = room.players.find(({ id }) => id === data.to)
  runners.get(to.id).ball = true
  room.send('passed', { from: player.id, to: to.id, roof: runners.get(player.id).roof, height: Math.min(SIZE, data.height) })
}
`

/** Publishes a build with a room script, which has logged some lines and an exception. */
export async function addRoomScript(platform: Platform, program: Client, gameId: string): Promise<void> {
  const files = { ...build('two'), 'server/room.js': ROOM_SCRIPT }
  const { deployId } = await deploy(platform, program, gameId, files, 'Faster start, new skyline', 'server/room.js')
  const logs = new StoredScriptLogs(platform.app)
  const at = platform.clock.now().getTime()
  const line = (text: string) => ({ at, level: 'log' as const, roomId: 'skyline-1', deployId, text })
  const place = { line: 13, column: 15, stack: 'at message (server/room.js:13:15)' }
  const error = "TypeError: cannot read property 'id' of undefined"
  logs.append(gameId, [
    line('Linus has joined, 3 runners now'),
    { ...line(error), level: 'error', ...place },
    line(`round over ${JSON.stringify({ winner: 'Grace Hopper', roofs: 41, seconds: 93.25, passes: [3, 9, 12, 4] })}`),
    line('عبد الرحمن الخوارزمي has passed the ball'),
    line('AVeryLongWordThatNobodyCouldBreakAnywhereButTheScriptLoggedItAllTheSameAndThePageHasToKeepItInside'),
  ])
  await logs.flush()
}

/** Reports exceptions of players, of two versions. */
export async function addErrors(platform: Platform, game: { id: string; liveDeployId: string | null }): Promise<void> {
  const { gameErrors } = platform.app
  const error = (fields: Partial<Reported>): Reported => ({
    message: "TypeError: Cannot read properties of undefined (reading 'roofs')",
    path: 'assets/index-4f1c2a9b.js',
    line: 1,
    column: 48_213,
    stack: null,
    count: 1,
    ...fields,
  })
  const before = { gameId: game.id, deployId: null, browser: 'Firefox on Windows' }
  gameErrors.add(before, [
    error({ message: 'Unhandled: NotAllowedError: play() failed', path: null, line: null, column: null }),
  ])
  const stack = `TypeError: Cannot read properties of undefined (reading 'roofs')
    at draw (https://rooftop-relay.localhost/assets/index-4f1c2a9b.js:1:48213)
    at frame (https://rooftop-relay.localhost/assets/index-4f1c2a9b.js:1:51002)`
  gameErrors.add({ gameId: game.id, deployId: game.liveDeployId, browser: 'Chrome on Android' }, [
    error({ count: 1284, stack }),
    error({ message: 'sounds/rooftop.ogg did not load.', path: 'index.html', line: null, column: null, count: 3 }),
  ])
  await gameErrors.flush()
}
