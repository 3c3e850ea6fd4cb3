import { Agent, request } from 'node:http'
import t from 'tap'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { type Build, build, deploy, liveBuild, sha256 } from './build.ts'

/** The number of deploys that go live during the reads. */
const FLIPS = amount(20, 200)
const READERS = 4
/** The number of deploys in the history. Older ones are deleted, so that there is garbage to collect. */
const KEPT = 5

/** Both files contain the stamp at the beginning and at the end. The script is large enough for compression. */
const stamped = (stamp: number): Build => ({
  ...build('never changes', 4),
  'index.html': `<title>${stamp}</title><script src="main.js"></script><!--${stamp}-->`,
  'main.js': `/*${stamp}*/${'play();'.repeat(400)}/*${stamp}*/`,
})

t.test(`while ${FLIPS} deploys flip, readers never see a mixture, an error, or an old build again`, async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const { app, clock } = platform
  const player = await platform.signUp()
  const game = await platform.game(player, { settings: { authWidget: 'off' } }).catch(() => platform.game(player))
  const program = await platform.program(player)
  await program.patch(`/api/games/${game.id}`, { settings: { authWidget: 'off' } })
  await deploy(platform, program, game.id, stamped(0))
  const host = platform.gameHost(game.slug)
  const port = Number(new URL(platform.portal).port)

  let acknowledged = 0
  let over = false
  const wrong: string[] = []
  let answers = 0
  const read = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const get = async (path: string) => {
      const least = acknowledged
      const { status, body, etag } = await ask(agent, port, host, path)
      answers++
      const [first, ...others] = [...body.matchAll(/(?:<title>|\/\*|<!--)(\d+)/g)].map(([, stamp]) => Number(stamp))
      if (status !== 200) wrong.push(`${path}: ${status}`)
      else if (first === undefined || others.some((stamp) => stamp !== first))
        wrong.push(`${path}: torn ${body.slice(0, 80)}`)
      else if (first < least) wrong.push(`${path}: ${first} although ${least} was acknowledged`)
      else if (etag !== `"${sha256(body)}"`) wrong.push(`${path}: an entity tag of other bytes`)
      return first ?? -1
    }
    let before = await get('/')
    while (!over) {
      const script = await get('/main.js')
      const after = await get('/')
      if (before === after && script !== before) wrong.push(`script ${script} within page ${before}`)
      if (script < before || after < script) wrong.push(`back in time: ${before}, ${script}, ${after}`)
      before = after
    }
    agent.destroy()
  }
  const collector = new GarbageCollector(app)
  let collections = 0
  const collect = async () => {
    while (!over) {
      await collector.collect(new AbortController().signal)
      collections++
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  const others = Promise.all([...Array.from({ length: READERS }, read), collect()])
  const history: string[] = []
  for (let stamp = 1; stamp <= FLIPS; stamp++) {
    clock.advance((60 * 3_600_000) / FLIPS) // All steps together are sixty hours, so that deleted files become old enough for collection.
    const { deployId } = await deploy(platform, program, game.id, stamped(stamp))
    acknowledged = stamp
    history.push(deployId)
    if (history.length > KEPT) await app.deploys.remove(player.id, history.shift() as string)
  }
  over = true
  await others

  t.same(wrong.slice(0, 5), [])
  t.comment(`${answers} answers, ${collections} collections`)
  t.ok(answers > FLIPS, 'the readers were at it')
  t.same(await liveBuild(platform, game.id), stamped(FLIPS))
  // What was deleted last is garbage two days later. Each deploy has two blobs, and each of these two compressed forms.
  clock.advance(48 * 3_600_000)
  await until(async () => {
    await collector.collect(new AbortController().signal)
    return (await Array.fromAsync(app.storage.list('blobs/'))).length <= (KEPT + 1) * 2 * 3
  })
  t.pass('what is older than the history was collected')
})

function ask(
  agent: Agent,
  port: number,
  host: string,
  path: string,
): Promise<{ status: number | undefined; body: string; etag: string | undefined }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, agent, headers: { host } }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({ status: answer.statusCode, body: Buffer.concat(chunks).toString(), etag: answer.headers.etag }),
      )
    })
      .on('error', reject)
      .end()
  })
}
