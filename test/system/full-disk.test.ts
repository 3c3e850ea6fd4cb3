// A disk of 200 MB that fills up, by uploads, by another program and by its log: uploads are refused, and everything else
// goes on, rooms too.
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startPlatform } from '../kit/platform.ts'
import { startSmtp } from '../kit/smtp.ts'
import { until } from '../kit/until.ts'
import { build, deploy, filesOf, type Upload, upload } from '../plugins/deploy/build.ts'
import { largePng, sendFile } from '../plugins/games/pictures.ts'
import { headersOf, RoomSocket, signInTo } from '../plugins/multiplayer/kit.ts'

const MB = 1_000_000

/** A file system of its own; null where this process may not mount one. */
function mountDisk(t: Test, size: string): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-disk-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', ['-l', folder]))
  return folder
}

/** Appends lines to a file until the disk takes no more. */
function fillWithLines(file: string): void {
  const log = openSync(file, 'a')
  try {
    for (const line of [`${'x'.repeat(65_535)}\n`, '\n']) {
      try {
        for (;;) writeSync(log, line)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  } finally {
    closeSync(log)
  }
}

t.test('a full disk refuses uploads, and nothing else', async (t) => {
  const smtp = await startSmtp(t)
  const disk = mountDisk(t, '200m')
  if (!disk) {
    t.pass('no disk', { skip: 'this process may not mount a tmpfs' })
    return
  }
  const dataDir = join(disk, 'data')
  const platform = await startPlatform(t, {
    listen: true,
    config: {
      dataDir,
      database: { driver: 'sqlite' },
      mail: { driver: 'smtp', url: smtp.url, from: 'yard@example.org' },
    },
  })
  const { app } = platform
  const free = () => {
    const { bavail, bsize } = statfsSync(disk)
    return bavail * bsize
  }
  await platform.admin()
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  await deploy(platform, program, game.id, build('before'))
  const host = platform.gameHost(game.slug)
  const guest = await platform.signUp()
  const sockets: RoomSocket[] = []
  for (const member of [player, guest]) {
    await signInTo(member, host)
    sockets.push(new RoomSocket(t, platform, '/mp/rooms/lobby', headersOf(member, host)))
    await sockets.at(-1)?.enter()
  }
  const [first, second] = sockets as [RoomSocket, RoomSocket]
  let said = 0
  const roomGoesOn = async (message: string) => {
    first.say({ t: 'send', type: 'n', data: ++said })
    t.match(await second.next('msg'), { data: said }, message)
  }
  await roomGoesOn('two players are in a room')
  await app.diskWatch.look()
  const readyz = async () => (await platform.stranger.get('/readyz')).body
  t.match(await readyz(), { status: 'ready', details: { disk: 'ok' } })

  t.comment('by a deploy')
  let refused = 0
  for (let nth = 0; nth < 6 && refused === 0; nth++) {
    const files = {
      'index.html': 'x',
      'big.bin': Buffer.alloc(20 * MB, 2 * nth + 1),
      'bigger.bin': Buffer.alloc(20 * MB, 2 * nth + 2),
    }
    const started = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
    if (started.status !== 200) refused = started.status
    for (const wanted of (started.body.uploads ?? []) as Upload[]) {
      const { status } = await upload(platform, wanted, files)
      if (status !== 204) refused = status
    }
  }
  t.equal(refused, 507)
  t.ok(free() > 10 * MB, `${free()} bytes are left: a twentieth of the disk`)

  t.comment('by assets')
  let answer = await sendFile(program, '/api/assets', largePng(9 * MB))
  for (let nth = 0; nth < 5 && answer.status === 201; nth++) {
    answer = await sendFile(program, '/api/assets', largePng(9 * MB - nth - 1))
  }
  t.match(answer, { status: 507, body: { error: { code: 'storage_full' } } })
  t.ok(free() > 10 * MB, 'and still is')

  t.comment('by another program')
  const other = join(disk, 'other-program')
  writeFileSync(other, Buffer.alloc(free() - 4 * MB))
  await app.diskWatch.look()
  await app.diskWatch.look()
  t.match(await readyz(), { status: 'ready', details: { disk: 'warning' } })
  const announced = await program.post('/api/deploy', { gameId: game.id, files: filesOf(build('after')) })
  t.match(announced, { status: 507, body: { error: { code: 'storage_full' } } })
  t.equal((await sendFile(program, `/api/games/${game.id}/media`, largePng(1000))).status, 507)
  t.equal((await sendFile(program, '/api/assets', largePng(1000))).status, 507)
  t.equal((await platform.stranger.get('/', { host })).text, build('before')['index.html'], 'games are played')
  const newcomer = await platform.signUp()
  t.equal((await newcomer.get('/api/auth/session')).body.user.id, newcomer.id, 'people sign up, and are signed in')
  await signInTo(newcomer, host)
  const save = { host, headers: { 'content-type': 'text/plain' } }
  t.equal((await newcomer.put('/__service/saves/a', 'x'.repeat(100_000), save)).status, 201, 'large saves go on, too')
  t.equal((await newcomer.get('/__service/saves/a', { host })).text.length, 100_000)
  t.equal((await program.patch(`/api/games/${game.id}`, { title: 'Renamed' })).status, 200, 'what is small is changed')
  const before = (await app.credits.balance(newcomer.id)).balance
  await app.credits.grant(newcomer.id, 5, { kind: 'grant', description: 'Full', key: 'full-disk' })
  t.equal((await app.credits.balance(newcomer.id)).balance, before + 5, 'and the ledger goes on')
  await roomGoesOn('rooms go on')
  await until(async () => smtp.inbox.length > 0)
  t.match(smtp.inbox, [{ to: ['admin@example.org'], subject: /disk/ }], 'the administrator has one mail')

  t.comment('by a log, to the last byte')
  const log = join(disk, 'gameyard.log')
  fillWithLines(log)
  t.equal(free(), 0)
  t.equal((await platform.stranger.get('/', { host })).text, build('before')['index.html'], 'games are still played')
  t.equal((await newcomer.get('/api/auth/session')).body.user.id, newcomer.id, 'who is signed in stays so')
  await roomGoesOn('rooms go on without a free byte')
  const renamed = await program.patch(`/api/games/${game.id}`, {
    title: 'x'.repeat(100),
    description: 'y'.repeat(19_000),
  })
  t.ok(
    renamed.status === 200 || renamed.body.error.code === 'storage_full',
    `a change is stored or refused: ${renamed.text}`,
  )
  const title = renamed.status === 200 ? 'x'.repeat(100) : 'Renamed'
  t.equal((await program.get(`/api/games/${game.id}`)).body.title, title, 'and never half')

  t.comment('with room again, without a restart')
  unlinkSync(log)
  unlinkSync(other)
  await app.diskWatch.look()
  t.match(await readyz(), { details: { disk: 'ok' } })
  await deploy(platform, program, game.id, build('after'))
  t.equal((await platform.stranger.get('/', { host })).text, build('after')['index.html'])
  t.equal(smtp.inbox.length, 1)
})
