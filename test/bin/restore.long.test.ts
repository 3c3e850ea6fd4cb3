// Tests the move of a platform to another machine: another address, another system, another storage.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { ask, type PublishedGame, publishAt, signInAt } from '../kit/remote-game.ts'
import { freePort } from '../kit/server.ts'
import { startSwift, swiftMissing } from '../kit/swift.ts'
import { run, start, temporaryFolder } from './program.ts'

/** Starts a platform on this machine with a published game, and backs it up. */
async function backedUp(t: Test, config: Record<string, unknown> = {}, title = 'Pong') {
  const cwd = temporaryFolder(t)
  const port = await freePort()
  writeFileSync(join(cwd, 'gameyard.yaml'), stringify({ listen: { port }, blender: { driver: 'none' }, ...config }))
  const server = start(t, ['serve'], { cwd })
  await server.says('"ready"')
  const portal = `http://localhost:${port}`
  const published = await publishAt(portal, { 'index.html': `<!doctype html><title>${title}</title>` })
  t.match(await run(t, ['backup', 'copy.tar'], { cwd }), { code: 0 })
  server.process.kill('SIGTERM')
  await server.ended
  return { file: join(cwd, 'copy.tar'), portal, port, published }
}

/** Asserts that a player who is signed in to the portal can enter a game at its own address. */
async function playsAt(t: Test, port: number, game: string, portalCookie: string): Promise<void> {
  const cookie = await signInAt(port, game, portalCookie)
  t.match(JSON.parse((await ask(port, `${game}/auth/service/session`, { cookie })).body), { signedIn: true })
}

t.test('a platform is restored on another machine, with another name', async (t) => {
  const { file, portal: former, port: formerPort, published } = await backedUp(t)
  const { slug } = published as PublishedGame
  const cwd = temporaryFolder(t)
  const port = await freePort()
  const written = `# ours\nlisten: { port: ${port} } # behind the proxy\ntrustProxy: [127.0.0.1]\nblender: { driver: none }\n`
  writeFileSync(join(cwd, 'gameyard.yaml'), written)
  const move = (...more: string[]) => run(t, ['restore', file, '--url', 'https://yard.example.org', ...more], { cwd })
  t.match(await move(), { code: 1, stderr: /games\.domain/ }, 'games need a domain that suits')
  t.match(await move('--games', 'games.example.org'), { code: 1, stderr: /shares its domain/ })
  t.equal(readFileSync(join(cwd, 'gameyard.yaml'), 'utf8'), written)
  t.notOk(existsSync(join(cwd, 'data')), 'nothing happens before')

  const { code, stdout, stderr } = await move('--games', 'example-games.net')
  t.equal(code, 0, stderr)
  t.match(stdout, /has portal\.url: https:\/\/yard\.example\.org and games\.domain: example-games\.net now/)
  const config = readFileSync(join(cwd, 'gameyard.yaml'), 'utf8')
  t.ok(config.startsWith('# ours') && config.includes('# behind the proxy'), 'what else stands there stays')
  t.match(parse(config), {
    portal: { url: 'https://yard.example.org', formerUrls: [former] },
    games: { domain: 'example-games.net', formerDomains: [`localhost:${formerPort}`] },
  })
  t.match(await move('--games', 'example-games.net'), { code: 1, stderr: /is not empty/ }, 'never over something')

  const server = start(t, ['serve'], { cwd })
  await server.says('"ready"')
  const cookie = `__Host-session=${published.cookie.split('=')[1]}`
  const game = `https://${slug}.example-games.net`
  t.match((await ask(port, game)).body, /<title>Pong/)
  await playsAt(t, port, game, cookie)
  const session = JSON.parse((await ask(port, 'https://yard.example.org/api/auth/session', { cookie })).body)
  t.equal(session.user?.name, published.name, 'whoever was signed in still is')
  t.match(await ask(port, `${former}/games/${slug}`), {
    status: 308,
    location: `https://yard.example.org/games/${slug}`,
  })
  t.match(await ask(port, `http://${slug}.localhost:${formerPort}/level`), { status: 308, location: `${game}/level` })
  server.process.kill('SIGTERM')
  await server.ended

  await t.test('and back, to this machine alone, without a configuration', async (t) => {
    const home = temporaryFolder(t)
    t.match(await run(t, ['backup', join(home, 'moved.tar')], { cwd }), { code: 0 })
    const next = await freePort()
    const url = `http://localhost:${next}`
    t.match(await run(t, ['restore', 'moved.tar', '--url', url], { cwd: home }), { code: 0 })
    t.match(parse(readFileSync(join(home, 'gameyard.yaml'), 'utf8')), {
      portal: { url, formerUrls: [former, 'https://yard.example.org'] },
      games: { formerDomains: [`localhost:${formerPort}`, 'example-games.net'] },
    })
    const server = start(t, ['serve', '--port', String(next)], { cwd: home })
    await server.says('"ready"')
    t.match((await ask(next, `http://${slug}.localhost:${next}/`)).body, /<title>Pong/)
    // On http the name of the cookie contains the port. The session itself is still valid.
    const renamed = published.cookie.replace(`_${formerPort}=`, `_${next}=`)
    await playsAt(t, next, `http://${slug}.localhost:${next}`, renamed)
    t.equal((await ask(next, `https://yard.example.org/games/${slug}`)).status, 308)
    server.process.kill('SIGTERM')
    await server.ended
  })

  await t.test('what would not be the same platform is refused', async (t) => {
    const home = temporaryFolder(t)
    const refused = async (config: object, expected: RegExp) => {
      writeFileSync(join(home, 'gameyard.yaml'), stringify(config))
      t.match(await run(t, ['restore', file], { cwd: home }), { code: 1, stderr: expected })
      t.notOk(existsSync(join(home, 'data')))
    }
    await refused({ secret: 'another one, that is long enough for it' }, /`secret` of this configuration is not that/)
    await refused(
      { database: { driver: 'postgres', url: 'postgres://gameyard@127.0.0.1:1/none' } },
      /so it needs the secret of the platform .*: tar -xOf \S+ keys\/secret \| base64 -w0\. Nothing was restored\.\n$/,
    )
    const secret = `base64:${readFileSync(join(cwd, 'data/keys/secret')).toString('base64')}`
    await refused(
      { secret, database: { driver: 'postgres', url: 'postgres://gameyard@127.0.0.1:1/none' } },
      /The database at 127\.0\.0\.1:1\/none can't be used/,
    )
    await refused({ database: { driver: 'sqlite', file: '/elsewhere/yard.db' } }, /\/elsewhere\/yard\.db is not in it/)
    writeFileSync(join(home, 'gameyard.yaml'), stringify({ database: { driver: 'sqlite', file: 'own/yard.db' } }))
    const { stdout } = await run(t, ['restore', file], { cwd: home })
    t.match(stdout, new RegExp(`It was at ${former}, and is at http://localhost:8080 now: list`))
    t.ok(existsSync(join(home, 'data/own/yard.db')), 'where the configuration says')
  })
})

t.test('a secret of the configuration goes along by hand', async (t) => {
  const { file } = await backedUp(t, { secret: 'one that is long enough for anybody' })
  const cwd = temporaryFolder(t)
  t.match(await run(t, ['restore', file], { cwd }), { code: 1, stderr: /had a `secret` in its configuration/ })
  t.notOk(existsSync(join(cwd, 'data')))
  writeFileSync(join(cwd, 'gameyard.yaml'), stringify({ secret: 'one that is long enough for anybody' }))
  t.match(await run(t, ['restore', file], { cwd }), { code: 0 })
})

t.test('blobs go to a bucket where the other machine keeps them in one', { skip: swiftMissing() }, async (t) => {
  const { file, portal, port, published } = await backedUp(t)
  const swift = await startSwift()
  t.teardown(swift.stop)
  await swift.createBucket('gameyard')
  const cwd = temporaryFolder(t)
  const { endpoint, region, accessKeyId, secretAccessKey } = swift
  const storage = (bucket: string, prefix = '') => ({
    driver: 's3',
    endpoint,
    region,
    bucket,
    forcePathStyle: true,
    accessKeyId,
    secretAccessKey,
    ...(prefix && { prefix }),
  })
  const configure = (bucket: string, prefix = '') =>
    writeFileSync(
      join(cwd, 'gameyard.yaml'),
      stringify({ listen: { port }, blender: { driver: 'none' }, storage: storage(bucket, prefix) }),
    )
  configure('gameyard')
  t.match(await run(t, ['restore', file], { cwd }), { code: 0 })
  t.notOk(existsSync(join(cwd, 'data/blobs')))
  const server = start(t, ['serve'], { cwd })
  await server.says('"ready"')
  t.match((await ask(port, portal.replace('//', `//${published.slug}.`))).body, /<title>Pong/)
  server.process.kill('SIGTERM')
  await server.ended

  renameSync(join(cwd, 'data'), join(cwd, 'before'))
  t.match(await run(t, ['restore', file], { cwd }), { code: 0 }, 'what a restore left that was interrupted is no harm')
  rmSync(join(cwd, 'data'), { recursive: true })
  const other = await backedUp(t, {}, 'Chess')
  t.match(await run(t, ['restore', other.file], { cwd }), { code: 1, stderr: /The storage is not empty: it holds / })
  t.notOk(existsSync(join(cwd, 'data')))
  configure('gameyard', 'other/')
  t.match(await run(t, ['restore', other.file], { cwd }), { code: 0 }, 'a prefix of its own is empty')
})
