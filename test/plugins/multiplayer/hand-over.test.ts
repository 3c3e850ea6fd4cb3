import { join } from 'node:path'
import t from 'tap'
import ipc from '../../../drivers/bus/ipc.ts'
import { snapshotFrom } from '../../../plugins/multiplayer/room/snapshot.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { startPlatform } from '../../kit/platform.ts'
import { type Build, filesOf, upload } from '../deploy/build.ts'
import { headersOf, RoomSocket, signInTo } from './kit.ts'

/** A script whose snapshot takes longer than the rest of a stop. */
const SLOW = `
  let count = 0
  export function message(room) { room.send('count', ++count) }
  export function snapshot() {
    for (let i = 0; i < 8_000_000; i++);
    return count
  }
  export const restore = (room, data) => { count = data }`

t.test('a node that stops waits until its scripts have given their last snapshots', async (t) => {
  const path = join(t.testdir(), 'bus.sock')
  // The first process at the socket keeps the state; the platform is the second.
  const bus = await ipc.create({ path }, driverContext())
  t.teardown(() => bus.close())
  const platform = await startPlatform(t, {
    listen: true,
    config: { bus: { driver: 'ipc', path }, limits: { roomScriptMs: 5000, roomScriptShare: 1 } },
  })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const program = await platform.program(owner)
  const files: Build = { 'index.html': '<title>Pong</title>', 'room.js': SLOW }
  const begun = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files), room: 'room.js' })
  for (const wanted of begun.body.uploads) await upload(platform, wanted, files)
  await program.post(`/api/deploy/${begun.body.deployId}/finalize`)
  const host = platform.gameHost(game.slug)
  await signInTo(owner, host)
  const socket = new RoomSocket(t, platform, '/mp/rooms/lobby', headersOf(owner, host))
  await socket.enter()
  for (let count = 0; count < 20; count++) socket.say({ t: 'send', type: 'count' })
  for (let count = 1; count <= 20; count++) t.equal((await socket.next('msg')).data, count)
  await platform.app.close()
  const record = await bus.load(`room/${game.id}/lobby`)
  t.match(record && snapshotFrom(record.texts), { script: { data: 20 }, roster: { members: [{ id: 'p1' }] } })
})
