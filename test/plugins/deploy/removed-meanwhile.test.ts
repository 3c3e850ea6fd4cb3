// Tests that a deploy or a game that goes away in the middle of a request is not found, whatever the request has done by
// then, and never a mistake of the server.
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { isPlatformError } from '../../../core/errors.ts'
import { Deploys } from '../../../plugins/deploy/deploys.ts'
import { ALL } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy, filesOf, sha256 } from './build.ts'

type Parts = ConstructorParameters<typeof Deploys>[0]

const LIMITS = { filesPerDeploy: 100, deployBytes: 1e6, deployFileBytes: 1e6, openDeploysPerPlayer: 1000 }
const STEPS = [
  'query',
  'transaction',
  'groupCommit',
  'execute',
  'findOne',
  'find',
  'nativeUpdate',
  'get',
  'put',
  'putAll',
]

/** Returns an object whose asynchronous steps call `before` first. Entity managers are wrapped too. */
function stepwise<Part extends object>(part: Part, before: () => Promise<void>): Part {
  return new Proxy(part, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name === 'em') return () => stepwise(value.call(target), before)
      if (!STEPS.includes(String(name))) return value.bind(target)
      return async (...args: unknown[]) => {
        await before()
        return value.apply(target, args)
      }
    },
  })
}

async function withGame(t: Test) {
  // Those of deleted games stay open for a day.
  const platform = await startPlatform(t, { config: { limits: { openDeploysPerPlayer: 1000 } } })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const { app } = platform
  /** Begins a deploy whose files are all there. */
  const uploaded = async (files = build('new')) => {
    const { deployId } = await app.deploys.begin(player.id, { gameId: game.id, files: filesOf(files) })
    const each = Object.values(files).map((bytes) => ({ sha256: sha256(bytes), bytes: Buffer.from(bytes) }))
    await app.deploys.uploads.storeAll(deployId, each)
    return deployId
  }
  return { platform, app, player, game, program, uploaded }
}

/**
 * Does work again and again. Each time another of its steps, from the first to the last, finds that the deploy has gone.
 *
 * @returns the outcomes: `done`, or the code of the error
 */
async function removedAtEachStep(
  t: Test,
  app: Parts & { deploys: Deploys },
  {
    begin,
    remove,
    work,
  }: {
    begin: () => Promise<string>
    remove: (deployId: string) => Promise<unknown>
    work: (deploys: Deploys, deployId: string) => Promise<unknown>
  },
): Promise<Set<string>> {
  const outcomes = new Set<string>()
  for (let last = 1, reached = true; reached; last++) {
    const deployId = await begin()
    let steps = 0
    const before = async () => {
      if (++steps === last) await remove(deployId)
    }
    const { config, clock, events, games, identity, jobs, keys, origins, quotas, workerPrograms } = app
    const parts = { config, clock, events, games, identity, jobs, keys, origins, quotas, workerPrograms }
    const deploys = new Deploys(
      { ...parts, db: stepwise(app.db, before), storage: stepwise(app.storage, before) },
      LIMITS,
    )
    const error = await work(deploys, deployId).then(
      () => null,
      (error) => error,
    )
    await deploys.close()
    reached = steps >= last
    if (!reached) break
    t.ok(error === null || isPlatformError(error), `step ${last}: ${error?.stack ?? 'done'}`)
    if (error) t.ok([404, 409, 410].includes(error.statusCode), `step ${last}: ${error.message}`)
    outcomes.add(error?.code ?? 'done')
  }
  return outcomes
}

t.test('a deploy that is removed while it is finalized is not found', async (t) => {
  const { app, player, uploaded } = await withGame(t)
  const outcomes = await removedAtEachStep(t, app, {
    begin: uploaded,
    // Once it is live it stays.
    remove: (deployId) => app.deploys.remove(player.id, deployId).catch((error) => t.equal(error.statusCode, 409)),
    work: (deploys, deployId) => deploys.finalize(player.id, deployId),
  })
  t.same([...outcomes].sort(), ['done', 'not_found'])
})

for (const [name, work] of Object.entries<(deploys: Deploys, ownerId: string, deployId: string) => Promise<unknown>>({
  'opened as a preview': (deploys, ownerId, deployId) => deploys.finalize(ownerId, deployId, { preview: true }),
  'given a file': (deploys, _ownerId, deployId) =>
    deploys.uploads.store(deployId, { sha256: sha256('"new/0"'), size: 7 }, Readable.from([Buffer.from('"new/0"')])),
  'given files': (deploys, _ownerId, deployId) =>
    deploys.uploads.storeAll(deployId, [{ sha256: sha256('"new/0"'), bytes: Buffer.from('"new/0"') }]),
  removed: (deploys, ownerId, deployId) => deploys.remove(ownerId, deployId),
  'looked at': (deploys, ownerId, deployId) => deploys.get(ownerId, deployId),
})) {
  if (!ALL && name !== 'given files') continue
  t.test(`a deploy that is removed while it is ${name} is not found`, async (t) => {
    const { app, player, uploaded } = await withGame(t)
    const outcomes = await removedAtEachStep(t, app, {
      begin: uploaded,
      remove: (deployId) => app.deploys.remove(player.id, deployId).catch((error) => t.equal(error.statusCode, 404)),
      work: (deploys, deployId) => work(deploys, player.id, deployId),
    })
    t.ok(outcomes.has('not_found'))
  })
}

for (const [name, work] of Object.entries<(deploys: Deploys, ownerId: string, deployId: string) => Promise<unknown>>({
  'is put live again': (deploys, ownerId, deployId) => deploys.rollback(ownerId, deployId),
  'is pinned': (deploys, ownerId, deployId) => deploys.pin(ownerId, deployId, false),
})) {
  t.test(`a deploy that is removed while it ${name} is not found`, async (t) => {
    const { platform, app, player, game, program } = await withGame(t)
    const outcomes = await removedAtEachStep(t, app, {
      begin: async () => {
        const { deployId } = await deploy(platform, program, game.id, build('earlier'))
        platform.clock.advance(1000)
        await deploy(platform, program, game.id, build('later'))
        return deployId
      },
      remove: (deployId) =>
        app.deploys.remove(player.id, deployId).catch((error) => t.ok([404, 409].includes(error.statusCode))),
      work: (deploys, deployId) => work(deploys, player.id, deployId),
    })
    t.ok(outcomes.has('not_found'))
  })
}

t.test('a game that is deleted while a deploy of it is finalized is not found', async (t) => {
  const { app, player, game, uploaded } = await withGame(t)
  const outcomes = await removedAtEachStep(t, app, {
    begin: uploaded,
    remove: () => app.games.remove(player.id, game.id),
    work: (deploys, deployId) =>
      deploys
        .finalize(player.id, deployId)
        .finally(() => app.games.deletion.restore(player.id, game.id).catch(() => {})),
  })
  t.same([...outcomes], ['not_found'])
})
