// A Blender job of a game: the makers of the game read it, cancel it and go on from it. A worker that runs nothing takes
// the place of Blender, and finished jobs are written as a worker does.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { GenerationRow, JobRow, WorkerRow } from '../../../plugins/blender/entities.ts'
import { artifactKey } from '../../../plugins/blender/jobs/artifacts.ts'
import type { Client, PlatformOptions } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { startTeam } from '../../kit/team.ts'
import { sheet } from '../assets/models.ts'

const JOBS = '/api/blender/v1/jobs'
const notFound = { status: 404, body: { error: { code: 'not_found' } } }

/** A team, and a worker that takes no jobs. */
async function open(t: Test, options: PlatformOptions = {}) {
  const team = await startTeam(t, options)
  const { app, platform } = team
  const seenAt = platform.clock.now()
  await app.db.em().insert(WorkerRow, { id: 'wrk', executor: 'x', capacity: 1, blenderVersion: '5', seenAt })
  const submit = async (client: Client, fields: object = {}) => {
    const { status, body } = await client.post(JOBS, { name: 'Rock', template: 'prop', ...fields })
    if (status !== 202) throw new Error(`The job was answered with ${status}: ${body.error?.message}`)
    return body
  }
  const complete = async (id: string, name: 'model.glb' | 'scene.blend', bytes: Uint8Array) => {
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const artifact = { name, size: bytes.length, contentType: 'application/octet-stream', sha256 }
    await app.storage.put(artifactKey(id, artifact), Readable.from([bytes]), artifact)
    const finishedAt = platform.clock.now()
    await app.db.em().nativeUpdate(JobRow, { id }, { status: 'completed', finishedAt, artifacts: [artifact] })
  }
  return { ...team, submit, complete }
}

const READS = ['', '/events', '/artifacts', '/artifacts/scene.blend']
const PAGES = ['', '/events', '/files/scene.blend']
const statusesOf = (client: Client, base: string, paths: readonly string[]) =>
  Promise.all(paths.map(async (path) => (await client.get(base + path)).status))
const names = ({ body }: { body: { jobs: { name: string }[] } }) => body.jobs.map(({ name }) => name)

async function makersGoOn(t: Test, options: PlatformOptions = {}) {
  const { platform, owner, maker, former, tester, other, game, ...rest } = await open(t, options)
  const { program, makersProgram, submit, complete } = rest
  const job = await submit(program, { gameId: game.slug, script: 'pass' })
  t.match(job, { ownerId: owner.id, gameId: game.id, status: 'queued', queuePosition: 1 })
  await complete(job.id, 'scene.blend', Buffer.from('BLENDER-v304'))
  const [api, page] = [`${JOBS}/${job.id}`, `/blender/jobs/${job.id}`]

  for (const client of [owner, maker]) {
    t.same(await statusesOf(client, api, READS), [200, 200, 200, 200])
    t.same(await statusesOf(client, page, PAGES), [200, 200, 200])
  }
  t.match((await maker.get(page)).text, /Blender jobs of Duo[\s\S]*>By<[\s\S]*Olu[\s\S]*Queue the revision/)
  t.notMatch((await owner.get(page)).text, />By</)
  const outsiders = { former, tester, other }
  for (const [who, client] of Object.entries(outsiders)) {
    t.same(await statusesOf(client, api, READS), [404, 404, 404, 404], `not the ${who}`)
    t.same(await statusesOf(client, page, PAGES), [404, 404, 404], `nor its page for the ${who}`)
    t.match(await client.get(`${JOBS}?gameId=${game.id}`), notFound)
    t.match(await client.get(`/blender/new?from=${job.id}`), { status: 404 })
    t.equal((await client.get(`/games/${game.slug}/blender`)).status, 404)
    t.match(await client.post(`${api}/actions`, { action: 'render' }), notFound)
    t.match(await client.post(`${api}/cancel`), notFound)
    t.match(await client.post(JOBS, { name: 'x', action: 'render', sourceJobId: job.id }), notFound)
    t.match(await client.post(JOBS, { name: 'x', template: 'prop', gameId: game.id }), notFound)
    t.same(names(await client.get(JOBS)), [], 'and nothing of it is queued')
  }

  const further = await makersProgram.post(`${api}/actions`, { action: 'revise', script: 'pass', name: 'Boulder' })
  t.match(further, { status: 202, body: { ownerId: maker.id, gameId: game.id, sourceJobId: job.id } })
  t.match(await program.get(`${JOBS}/${further.body.id}`), { body: { name: 'Boulder', queuePosition: 1 } })
  t.same(names(await makersProgram.get(JOBS)), ['Boulder'], "a maker's own jobs")
  t.same(names(await program.get(JOBS)), ['Rock'])
  const alone = await submit(makersProgram, { name: 'Private' })
  t.match(await program.get(`${JOBS}/${alone.id}`), notFound, 'a job of no game is its owner’s alone')
  const listed = await program.get(`${JOBS}?gameId=${game.slug}`)
  t.same(names(listed), ['Boulder', 'Rock'])
  t.equal(listed.body.jobs[0].queuePosition, 1, 'with places in the queue of others')
  const tab = await owner.get(`/games/${game.slug}/blender`)
  t.match(tab.text, /Boulder[\s\S]*Mae[\s\S]*Rock[\s\S]*Olu[\s\S]*template=prop&amp;game=duo/)

  t.match(await program.post(`${JOBS}/${further.body.id}/cancel`), { status: 200, body: { status: 'cancelled' } })
  const { body } = await program.get(`/api/games/${game.id}/activity?limit=3`)
  t.match(body.activity, [
    { action: 'job.cancel', target: further.body.id, detail: 'Boulder', by: { playerId: owner.id } },
    { action: 'job.create', target: further.body.id, detail: 'Boulder', by: { playerId: maker.id } },
    { action: 'job.create', target: job.id, detail: 'Rock', by: { playerId: owner.id } },
  ])
  const unscoped = await platform.program(maker, ['games:read'])
  t.equal((await unscoped.get(`${JOBS}?gameId=${game.id}`)).status, 403)
  t.equal((await platform.stranger.get(`${JOBS}?gameId=${game.id}`)).status, 401)
}

t.test('the makers of a game read its jobs, cancel them and go on from them', (t) => makersGoOn(t))
t.test('the same holds on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  await makersGoOn(t, { config })
})

t.test('who leaves the team keeps the own jobs, and goes on from them alone', async (t) => {
  const { owner, maker, game, program, makersProgram, submit, complete } = await open(t)
  const theirs = await submit(makersProgram, { gameId: game.id })
  const ours = await submit(program, { gameId: game.id })
  for (const { id } of [theirs, ours]) await complete(id, 'scene.blend', Buffer.from('BLENDER-v304'))
  await owner.delete(`/api/games/${game.id}/members/${maker.id}`)
  t.match(await makersProgram.get(`${JOBS}/${ours.id}`), notFound)
  t.match(await program.get(`${JOBS}/${theirs.id}`), { status: 200 }, 'what a former maker has started stays')
  const render = { action: 'render' }
  t.match(await makersProgram.post(`${JOBS}/${theirs.id}/actions`, render), { status: 202, body: { gameId: null } })
  t.match(await program.post(`${JOBS}/${theirs.id}/actions`, render), { status: 202, body: { gameId: game.id } })
  const page = await maker.get(`/blender/jobs/${theirs.id}`)
  t.equal(page.status, 200)
  t.notMatch(page.text, /Duo/, 'the page does not name a game of others')
})

t.test('a game that ends leaves its jobs and generations with their owners', async (t) => {
  const { app, maker, game, program, makersProgram, submit } = await open(t)
  const job = await submit(program, { gameId: game.id })
  const making = { provider: 'blender', name: 'Boat', template: 'prop', gameId: game.slug }
  const { body: generation } = await program.post('/api/generations', making)
  t.match(generation, { gameId: game.id, status: 'queued' })
  t.match(await makersProgram.get(`/api/generations/${generation.id}`), { status: 200, body: { id: generation.id } })
  await program.delete(`/api/games/${game.id}`)
  t.match(await makersProgram.get(`${JOBS}/${job.id}`), notFound, 'a deleted game has no makers')
  t.match(await makersProgram.get(`/api/generations/${generation.id}`), notFound)
  await program.post(`/api/games/${game.id}/restore`)
  t.equal((await maker.get(`${JOBS}/${job.id}`)).status, 200)
  await program.delete(`/api/games/${game.id}?forever=true&confirm=${game.slug}`)
  t.match((await program.get(JOBS)).body.jobs, [{ gameId: null }, { id: job.id, gameId: null }])
  t.same(await app.db.em().count(JobRow, { gameId: game.id }), 0)
  t.same(await app.db.em().count(GenerationRow, { gameId: game.id }), 0)
})

t.test('the asset of a generation belongs to the game, while its owner makes it', async (t) => {
  const { app, owner, maker, game, program, makersProgram, complete } = await open(t)
  const making = { provider: 'blender', name: 'Boat', template: 'prop', gameId: game.id }
  const make = async () => (await makersProgram.post('/api/generations', making)).body
  const advance = (id: string) => app.generatedAssets.advance(id, { attempt: 1, signal: new AbortController().signal })
  const [first, second] = [await make(), await make()]
  for (const { jobId } of [first, second]) await complete(jobId, 'model.glb', await sheet(3))
  await advance(first.id)
  const { body: made } = await program.get(`/api/generations/${first.id}`)
  t.match(made, { status: 'completed', ownerId: maker.id, assetId: /^ast_/ })
  t.match(await program.get(`/api/assets/${made.assetId}`), {
    status: 200,
    body: { gameId: game.id, ownerId: maker.id },
  })
  await owner.delete(`/api/games/${game.id}/members/${maker.id}`)
  await advance(second.id)
  const { body: kept } = await makersProgram.get(`/api/generations/${second.id}`)
  t.match(kept, { status: 'completed', error: null }, 'nothing is lost by leaving')
  t.match(await makersProgram.get(`/api/assets/${kept.assetId}`), { status: 200, body: { gameId: null } })
  t.match(await program.get(`/api/assets/${kept.assetId}`), notFound)
})

t.test('the form of a job offers the games of the player', async (t) => {
  const { maker, other, game } = await open(t)
  t.match((await maker.get(`/blender/new?template=prop&game=${game.slug}`)).text, `<option value="${game.id}" selected`)
  t.notMatch((await other.get(`/blender/new?game=${game.slug}`)).text, /name="gameId"/, 'who makes none has no choice')
  const sent = await maker.submit('/blender/new', { name: 'Rock', script: 'pass', gameId: game.id })
  t.equal(sent.status, 303)
  t.match((await maker.get(`/games/${game.slug}/blender`)).text, /Rock[\s\S]*Mae/)
  const again = await maker.get(`/blender/new?from=${String(sent.headers.location).split('/').at(-1)}`)
  t.match(again.text, `<option value="${game.id}" selected`)
  const refused = await other.submit('/blender/new', { name: 'Rock', script: 'pass', gameId: game.id })
  t.match(refused, { status: 404, text: /There is no such game/ })
})
