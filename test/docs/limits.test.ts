// The limits that the security model lists: all of the configuration, and those of stored things hold as it says.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { kernelLimits } from '../../core/config.ts'
import { plugins } from '../../plugins/index.ts'
import type { Answer, Client, Platform, PlayerClient } from '../kit/platform.ts'
import { startPlatform } from '../kit/platform.ts'
import { filesOf } from '../plugins/deploy/build.ts'
import { png, sendFile } from '../plugins/games/pictures.ts'
import { signInTo } from '../plugins/multiplayer/kit.ts'
import { PlayerSaves } from '../plugins/saves/kit.ts'

const root = join(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/security-model.md'), 'utf8')
const section = /## Limits\n(.*?)\n## /s.exec(guide)?.[1] ?? ''
const rows = section
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()))
/** The rows of limits of stored things, with the answer beyond each. */
const stored = rows.flatMap(([, limit = '', , counted = '', freed = '', beyond = '']) => {
  const [, status, code] = /^([0-9]{3}) `(\w+)`$/.exec(beyond) ?? []
  return status && code ? [{ limit: limit.replaceAll('`', ''), status: Number(status), code, counted, freed }] : []
})

t.test('every limit of the configuration is in a table of the security model, and nothing else is', async (t) => {
  const documented = rows.flatMap((cells) =>
    [...cells.join(' ').matchAll(/`(\w+)`/g)].map(([, name]) => name as string),
  )
  const codes = new Set(stored.map(({ code }) => code))
  const known = [kernelLimits, ...plugins.map(({ limits }) => limits)].flatMap((limits) => Object.keys(limits))
  t.same(documented.filter((name) => !codes.has(name)).toSorted(), known.toSorted())
  for (const { limit, counted, freed } of stored) for (const cell of [counted, freed]) t.match(cell, /\w{3}/, limit)
})

interface World {
  platform: Platform
  player: PlayerClient
  program: Client
}
/** Makes a thing, as the n-th one, and frees it. */
interface Thing {
  at: number
  make(n: number): Promise<Answer>
  free(made: Answer): Promise<unknown>
}

/** How a player comes to each limit by the API. `at` is the value of the limit, by which so many things fit. */
const THINGS: Record<string, { value: number; of: (world: World) => Promise<Thing> }> = {
  gamesPerPlayer: {
    value: 2,
    of: async ({ program }) => ({
      at: 2,
      make: (n) => program.post('/api/games', { title: `Game ${n}`, description: 'A game.' }),
      free: ({ body: { slug } }) => program.delete(`/api/games/${slug}?forever=true&confirm=${slug}`),
    }),
  },
  reservedSlugsPerPlayer: {
    value: 2,
    of: async ({ platform, program }) => ({
      at: 2,
      make: async (n) => {
        const made = await program.post('/api/games', { title: `Game ${n}`, description: 'A game.' })
        const { slug } = made.body
        if (made.status === 201) await program.delete(`/api/games/${slug}?forever=true&confirm=${slug}`)
        return made
      },
      free: async () => platform.app.db.execute('update game_slugs set freed_at = ?', [new Date(0)]),
    }),
  },
  assetsPerPlayer: {
    value: 2,
    of: async ({ program }) => ({
      at: 2,
      make: () => sendFile(program, '/api/assets', png(9, 9)),
      free: ({ body }) => program.delete(`/api/assets/${body.id}`),
    }),
  },
  storageBytesPerPlayer: {
    value: 2 * png(9, 9).length,
    of: async ({ program }) => ({
      at: 2,
      make: () => sendFile(program, '/api/assets', png(9, 9)),
      free: ({ body }) => program.delete(`/api/assets/${body.id}`),
    }),
  },
  openDeploysPerPlayer: {
    value: 2,
    of: async ({ platform, player, program }) => {
      const game = await platform.game(player)
      return {
        at: 2,
        make: (n) => program.post('/api/deploy', { gameId: game.id, files: filesOf({ 'index.html': `page ${n}` }) }),
        free: ({ body }) => program.delete(`/api/deploy/${body.deployId}`),
      }
    },
  },
  applicationsPerPlayer: {
    value: 2,
    of: async ({ player }) => ({
      at: 2,
      make: (n) =>
        player.post('/api/oauth/apps', { name: `App ${n}`, redirectUris: [`https://app${n}.example.com/callback`] }),
      free: ({ body: { id } }) => player.delete(`/api/oauth/apps/${id}`),
    }),
  },
  tokensPerPlayer: {
    value: 3,
    // The program of the test has one.
    of: async ({ player }) => ({
      at: 2,
      make: (n) => player.post('/api/tokens', { label: `Token ${n}`, scopes: ['games:read'] }),
      free: ({ body: { id } }) => player.delete(`/api/tokens/${id}`),
    }),
  },
  draftFiles: {
    value: 2,
    of: async ({ platform, player }) => {
      const draft = `/api/games/${(await platform.game(player)).id}/draft`
      const headers = { 'content-type': 'text/plain' }
      return {
        at: 2,
        make: (n) => player.put(`${draft}/files/${n}.txt`, Buffer.from(String(n)), { headers }),
        free: () => player.delete(draft),
      }
    },
  },
  savesPerPlayer: {
    value: 2,
    of: async (world) => {
      const saves = await savesOf(world)
      return { at: 2, make: (n) => saves.put(`key${n}`, '1'), free: () => saves.delete('key0') }
    },
  },
  savesTotalBytes: {
    value: 20,
    of: async (world) => {
      const saves = await savesOf(world)
      return { at: 2, make: (n) => saves.put(`key${n}`, 'x'.repeat(10)), free: () => saves.delete('key0') }
    },
  },
}

/** Limits whose things need more than an account; the tests named reach them. */
const ELSEWHERE: Record<string, string> = {
  domainsPerGame: 'plugins/domains/domains.test.ts',
  assetClips: 'plugins/assets/applied-clips.test.ts',
  blenderQueuedPerOwner: 'plugins/blender/jobs.test.ts',
}

t.test('a stored thing is refused at its limit, and one more fits when one is freed', async (t) => {
  t.ok(stored.length > 8, `${stored.length} rows`)
  for (const row of stored) {
    const elsewhere = ELSEWHERE[row.limit]
    if (elsewhere) t.match(readFileSync(join(root, 'test', elsewhere), 'utf8'), row.code, row.limit)
    else await t.test(row.limit, (t) => reaches(t, row))
  }
})

async function reaches(t: Test, { limit, status, code }: (typeof stored)[number]) {
  const { value, of } = THINGS[limit] ?? { value: 0, of: () => Promise.reject(new Error(`Nothing reaches ${limit}.`)) }
  const platform = await startPlatform(t, { config: { limits: { [limit]: value } } })
  const player = await platform.signUp()
  const thing = await of({ platform, player, program: await platform.program(player) })
  const made: Answer[] = []
  for (let n = 0; n < thing.at; n++) made.push(await thing.make(n))
  for (const answer of made) t.ok(answer.status < 300, `${limit}: ${answer.status} ${answer.text}`)
  t.match(await thing.make(thing.at), { status, body: { error: { code } } })
  await thing.free(made[0] as Answer)
  const more = await thing.make(thing.at)
  t.ok(more.status < 300, `${limit}: ${more.status} ${more.text}`)
}

async function savesOf({ platform, player }: World): Promise<PlayerSaves> {
  const host = platform.gameHost((await platform.game(player)).slug)
  await signInTo(player, host)
  return new PlayerSaves(player, host)
}
