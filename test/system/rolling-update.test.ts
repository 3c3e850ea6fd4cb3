// Nodes of an older build are replaced by this one, one at a time, under load. GAMEYARD_BEFORE is the older program,
// such as "/usr/local/bin/gameyard-0.1" or "node /src/before/bin/gameyard.js".
import t from 'tap'
import { aiConfig, openai, startAiServer } from '../kit/ai-server.ts'
import { clusterMissing, startCluster, WIDENED } from '../kit/cluster.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { Load } from './cluster-load.ts'

const before = process.env.GAMEYARD_BEFORE?.split(' ')
const skip = clusterMissing || (!before && 'GAMEYARD_BEFORE names no older program')

t.setTimeout(timeLimit(900))

t.test('a cluster goes to a new version, one node at a time', { skip }, async (t) => {
  const provider = await startAiServer(t, openai('Hello.', 1))
  const cluster = await startCluster(t, {
    program: before as string[],
    config: {
      ai: aiConfig(provider),
      plugins: { billing: { signUpCredits: 1_000_000 } },
      limits: { rateLimits: false },
    },
  })
  const older = [...cluster.nodes]
  const load = await Load.begin(cluster, 6)
  const { tally } = load
  const report = (what: string) =>
    t.comment(`${what}: ${tally.requests} requests so far, ${tally.errors.length} failed at first: ${tally.errors}`)
  await load.forRequests(300)
  report('all of the version before')
  for (const index of cluster.nodes.keys()) {
    t.equal(await cluster.nodes[index]?.stop('SIGTERM'), 0)
    await cluster.startNode(index)
    // A proxy sends nothing for a while to a node that was away. If the next one stopped before, there would be none.
    cluster.shares()
    do await load.forRequests(100)
    while (!cluster.shares()[index])
    await load.forRequests(400)
    report(`node ${index} is new`)
  }
  await cluster.nodes[0]?.stop('SIGTERM')
  await t.rejects(cluster.startNode(0, before), /written by a newer Gameyard/, 'there is no way back by a start alone')
  await cluster.startNode(0)
  await load.forRequests(200)
  await load.end()
  report('in the end')
  const widened = older.flatMap((node) => node.output().split('\n')).filter((line) => line.includes(WIDENED))
  const mistakes = tally.errors.filter((error) => error.startsWith('500 '))
  t.ok(
    mistakes.length <= widened.length,
    `${mistakes.length} errors by ${widened.length} statements of before a migration`,
  )
  // Another connection may have prepared the same statement.
  const again = tally.again.filter((error) => !error.startsWith('500 '))
  t.same(again, [], 'whatever else failed was done when it was sent again once')
  t.same(tally.failures, [], 'and nothing acknowledged is lost')
})
