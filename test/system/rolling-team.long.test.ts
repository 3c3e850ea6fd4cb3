// Teams in a rolling update from a version that knows only owners and invited players. GAMEYARD_BEFORE is the program of
// that version, such as "node /src/before/bin/gameyard.js".
import t, { type Test } from 'tap'
import { Recount } from '../../plugins/quotas/recount.ts'
import { clusterMissing, startCluster } from '../kit/cluster.ts'
import { startPlatform } from '../kit/platform.ts'
import type { Server } from '../kit/server.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { PASSWORD } from './cluster-players.ts'
import { must, TeamGame } from './rolling-team-games.ts'
import { ADDRESSES, Person } from './rolling-team-people.ts'

const before = process.env.GAMEYARD_BEFORE?.split(' ')
const skip = clusterMissing || (!before && 'GAMEYARD_BEFORE names no program of a version without teams')

t.setTimeout(timeLimit(900))

t.test('teams come with an update, one node at a time', { skip }, async (t) => {
  const config = { ...ADDRESSES, limits: { rateLimits: false } }
  const cluster = await startCluster(t, { program: before as string[], config })
  const servers: Server[] = [...cluster.nodes]
  const isNew = [false, false]
  const update = async (t: Test, node: number) => {
    t.equal(await cluster.nodes[node]?.stop('SIGTERM'), 0)
    servers.push(await cluster.startNode(node))
    isNew[node] = true
  }
  const games: TeamGame[] = []
  const agree = async (t: Test, what: string) => {
    const found: string[] = []
    for (const [node, itIs] of isNew.entries())
      for (const game of games) found.push(...(await game.differences(node, itIs)))
    t.same(found, [], `both nodes agree: ${what}`)
  }

  const root = await Person.setUp(cluster, 'Root')
  const everybody: Person[] = []
  const signUp = async (name: string) => {
    const person = await Person.signUp(cluster, name)
    everybody.push(person)
    return person
  }
  const [olga, max] = [await signUp('Olga'), await signUp('Max')]
  const [ivan, ines, nora, nils] = [
    await signUp('Ivan'),
    await signUp('Ines'),
    await signUp('Nora'),
    await signUp('Nils'),
  ]
  const [tess, sam, dan] = [await signUp('Tess'), await signUp('Sam'), await signUp('Dan')]
  const [gil, tim] = [await signUp('Gil'), await signUp('Tim')]
  const create = async (title: string, owner: Person, node: number) => {
    const strangers = everybody.filter((person) => person !== owner)
    const game = await TeamGame.create(title, { owner, node, strangers })
    games.push(game)
    return game
  }
  /** Ends the account of a player who owns no game. */
  const end = async (person: Person, node: number) => {
    must(303, await person.at(node).submit('/settings/delete', { password: PASSWORD }))
    everybody.splice(everybody.indexOf(person), 1)
    for (const game of games) game.forget(person)
  }
  const [alpha, beta] = [await create('Alpha', olga, 0), await create('Beta', olga, 1)]

  await t.test('before, there are owners and invited players', async (t) => {
    for (const game of games) {
      const link = await game.makeLink(0)
      await game.joinByLink(ivan, 0, link)
      await game.joinByLink(ines, 1, link)
      await game.play(olga, 0)
      await game.play(ivan, 1)
      await game.play(ines, 0)
      await game.deploy(olga, 1)
    }
    await agree(t, 'all that was done')
  })

  await t.test('one node is new', async (t) => {
    await update(t, 0)
    await agree(t, 'invited players are testers')
    for (const game of games) {
      for (const node of [0, 1]) {
        await game.deploy(olga, node)
        await agree(t, 'a deploy is live')
        await game.play(ivan, node)
      }
    }
    await agree(t, 'a save and a score')
  })

  await t.test('players whom the older node admits are testers', async (t) => {
    const link = await alpha.makeLink(1)
    await alpha.joinByLink(nora, 1, link)
    await alpha.joinByLink(nils, 0, link)
    await alpha.play(nora, 0)
    await alpha.play(nils, 1)
    await agree(t, 'two more testers')
  })

  await t.test('players whom the older node uninvites are out, and may come back', async (t) => {
    await beta.uninviteAll(1)
    await agree(t, 'nobody tests it')
    await beta.admit(ivan, 'tester', 0)
    await beta.play(ivan, 1)
    await agree(t, 'one tester is back')
  })

  await t.test('a new tester plays on the older node, and a removed one does not', async (t) => {
    await alpha.admit(tess, 'tester', 0)
    await alpha.play(tess, 1)
    await alpha.remove(ines, olga, 0)
    await agree(t, 'one comes, one goes')
  })

  await t.test('a maker deploys on the new node, and is nobody on the older one', async (t) => {
    for (const game of games) {
      await game.admit(max, 'maker', 0)
      const byMaker = await game.deploy(max, 0)
      await game.play(max, 0)
      t.equal((await max.at(1).deploy(game.id, 'refused')).status, 404)
      await agree(t, 'the deploy of the maker is live')
      await game.deploy(olga, 1)
      await game.rollBack(olga, 1, byMaker)
      await agree(t, 'the owner goes back to it on the older node')
    }
  })

  await t.test('a tester becomes a maker, and a tester again, and leaves', async (t) => {
    await alpha.changeRole(nora, 'maker', 0)
    await agree(t, 'a maker')
    await alpha.changeRole(nora, 'tester', 0)
    await agree(t, 'a tester')
    await alpha.remove(nora, nora, 0)
    await agree(t, 'nothing')
  })

  await t.test('a maker whom the older node invites plays there too', async (t) => {
    await beta.joinByLink(max, 1, await beta.makeLink(1))
    t.equal((await max.at(1).page(`/games/${beta.slug}`)).status, 200)
    await beta.changeRole(max, 'tester', 0)
    await beta.changeRole(max, 'maker', 0)
    await agree(t, 'and is a maker')
  })

  await t.test('a game gets another owner, who has it on the older node at once', async (t) => {
    await alpha.transfer(max, 0)
    await agree(t, 'the new owner')
    for (const node of [1, 0]) await alpha.deploy(max, node)
    await alpha.deploy(olga, 0)
    t.equal((await olga.at(1).deploy(alpha.id, 'refused')).status, 404)
    await alpha.joinByLink(sam, 1, await alpha.makeLink(1))
    await alpha.play(sam, 0)
    await agree(t, 'the new owner invites by the older node')
  })

  await t.test('a game and an account of the new node are good on the older one', async (t) => {
    const pia = await signUp('Pia')
    const gamma = await create('Gamma', pia, 0)
    await gamma.play(pia, 1)
    await gamma.admit(ivan, 'tester', 0)
    await gamma.play(ivan, 1)
    await gamma.deploy(pia, 1)
    await agree(t, 'a new game')
  })

  await t.test('accounts that end on the older node end on the new one', async (t) => {
    const delta = await create('Delta', dan, 0)
    await delta.admit(gil, 'maker', 0)
    await delta.admit(tim, 'tester', 0)
    await delta.play(tim, 1)
    await agree(t, 'before')
    for (const person of [gil, tim]) await end(person, 1)
    await agree(t, 'without them')
    // The owner is not asked who of them should have the game.
    games.splice(games.indexOf(delta), 1)
    await end(dan, 0)
  })

  await t.test('pages of the older node take what the new one has written', async (t) => {
    const found: string[] = []
    const open = async (person: Person, paths: readonly string[]) => {
      for (const path of paths)
        for (const node of isNew.keys()) {
          const { status } = await person.at(node).page(path)
          if (status !== 200) found.push(`${path} for ${person.name} on node ${node}: ${status}`)
        }
    }
    await open(root, [...PUBLIC, ...OF_STAFF, ...games.map(({ owner }) => `/admin/players/${owner.id}`)])
    for (const { slug, owner, makers } of games) {
      await open(owner, [...OF_ACCOUNT, ...OF_GAME.map((page) => `/games/${slug}/${page}`)])
      for (const maker of makers) await open(maker, OF_ACCOUNT)
    }
    t.same(found, [])
  })

  await t.test('both nodes are new', async (t) => {
    await update(t, 1)
    await agree(t, 'everything is there')
    for (const node of [0, 1]) {
      for (const person of [max, olga]) await alpha.deploy(person, node)
      for (const person of [max, olga, ivan, tess, sam]) await alpha.play(person, node)
    }
    await alpha.transfer(olga, 1)
    await agree(t, 'and goes on')
  })

  for (const node of cluster.nodes) t.equal(await node.stop('SIGTERM'), 0)
  for (const [index, server] of servers.entries()) {
    const errors = server.output().split('\n').filter(isError)
    const isOlder = index < isNew.length
    const unexpected = isOlder ? errors.filter((line) => !line.includes(WIDENED)) : errors
    t.same(unexpected, [], `process ${index} had no error`)
    t.comment(`process ${index}: ${errors.length - unexpected.length} statements of before a migration`)
  }
  const { secret } = cluster
  const { app } = await startPlatform(t, {
    config: { database: { driver: 'postgres', url: cluster.database }, secret },
  })
  // Earlier versions count less of a deploy, and saves without the sums of games. The nightly recount corrects both.
  const recount = () => new Recount(app, app.quotas).run(new AbortController().signal)
  t.comment(`corrected by the recount: ${JSON.stringify(await recount())}`)
  t.same(await recount(), [], 'the counts hold')
})

const PUBLIC = ['/', '/catalog', '/feed.xml', '/sitemap.xml']
const OF_STAFF = ['', '/audit', '/games', '/jobs', '/log', '/players', '/quotas', '/reports', '/storage'].map(
  (page) => `/admin${page}`,
)
const OF_ACCOUNT = ['', '/connected', '/messages', '/saves', '/security', '/storage', '/tokens']
  .map((page) => `/settings${page}`)
  .concat('/games', '/api/games', '/api/usage')
const OF_GAME = ['analytics', 'integrate', 'rooms', 'scores', 'scores/high']

const isError = (line: string) => /"level":"(error|fatal)"/.test(line)

/**
 * A statement that a connection has prepared reads a column that a migration has widened. This version prepares it again
 * (PreparedStatements); the one before opens another connection for the next request.
 */
const WIDENED = 'cached plan must not change result type'
