import { once } from 'node:events'
import t from 'tap'
import { startPlatform } from '../../../kit/platform.ts'
import { type Build, filesOf, upload } from '../../deploy/build.ts'
import { headersOf, RoomSocket, signInTo, upgrade } from '../kit.ts'

const script = (name: string) => `
  export const settings = { listed: ${name !== 'hidden'} }
  export function join(room, player) {
    if (room.id === 'closed') return 'Closed today.'
    if (room.id === 'broken') null.x
    room.send('hello', { name: '${name}', player: player.name, preview: room.id }, player)
  }
  export function open(room) { if (room.id === 'unopened') throw new Error('no') }
  export async function message(room, player, type, data) {
    if (type === 'kick') room.kick(player, data)
    if (type === 'score') {
      try {
        const { rank } = await room.score('best', player, data)
        await room.saves.set(player, 'last', { score: data })
        room.send('scored', [rank, await room.saves.get(player, 'last')])
      } catch (error) {
        room.send('refused', error.code)
      }
    }
  }`

t.test('rooms run the script of the live deploy, and those of a preview the preview’s', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const program = await platform.program(owner)
  const deploy = async (files: Build, query = '') => {
    const announced = { gameId: game.id, files: filesOf(files), room: 'room.js' }
    const begun = await program.post('/api/deploy', announced)
    for (const wanted of begun.body.uploads) await upload(platform, wanted, files)
    const answer = await program.post(`/api/deploy/${begun.body.deployId}/finalize${query}`)
    t.equal(answer.status, 200, answer.text)
    return begun.body.deployId as string
  }
  const build = (name: string): Build => ({ 'index.html': '<title>Pong</title>', 'room.js': script(name) })
  const board = () => program.put(`/api/games/${game.id}/boards/best`, { title: 'Best', writers: 'room' })
  t.match((await board()).body, { warning: /only a room script may, and the live deploy of the game has none/ })
  t.match((await owner.get('/games/pong/scores/best')).text, /Nothing can write this board/)
  await deploy(build('live'))
  const previewed = await deploy(build('preview'), '?preview=true')
  t.match((await board()).body, { warning: null })
  t.notMatch((await owner.get('/games/pong/scores/best')).text, /Nothing can write this board/)

  const host = platform.gameHost(game.slug)
  await signInTo(owner, host)
  const headers = headersOf(owner, host)
  const room = (name: string, given = headers) => new RoomSocket(t, platform, `/mp/rooms/${name}`, given)
  const ada = room('lobby')
  t.match(await ada.enter(), { room: { script: true } })
  t.match(await ada.next('msg'), { from: null, type: 'hello', data: { name: 'live' } })
  ada.say({ t: 'send', type: 'score', data: 12 })
  t.match(await ada.next('msg'), { type: 'scored', data: [1, { score: 12 }] })

  const kicked = room('kicks')
  await kicked.enter()
  kicked.say({ t: 'send', type: 'kick', data: `Ende${'終'.repeat(80)}` })
  const [code, reason] = (await once(kicked.socket, 'close')) as [number, Buffer]
  t.same([code, reason.toString()], [4001, `Ende${'終'.repeat(39)}`], 'a close frame has room for 123 bytes')

  t.match(await upgrade(platform, '/mp/rooms/closed', headers), {
    status: 403,
    body: { error: { code: 'refused_by_room', message: 'Closed today.' } },
  })
  const asked = await owner.get('/mp/rooms/closed', { host })
  t.match(asked, { status: 403, body: { error: { code: 'refused_by_room', message: 'Closed today.' } } })
  t.match(await upgrade(platform, '/mp/rooms/broken', headers), { status: 403 })
  t.match(await upgrade(platform, '/mp/rooms/unopened', headers), {
    status: 503,
    body: { error: { code: 'room_failed' } },
  })

  const previewHost = host.replace('pong', `pong--${previewed.slice(-10).toLowerCase()}`)
  await signInTo(owner, previewHost)
  const eve = room('lobby', headersOf(owner, previewHost))
  t.match(await eve.next('msg'), { type: 'hello', data: { name: 'preview' } })
  eve.say({ t: 'send', type: 'score', data: 1 })
  t.match(await eve.next('msg'), { type: 'refused', data: 'not_in_previews' })
  const { rooms } = platform.app
  const live = await rooms.list(game.id)
  t.match(live, [{ id: 'lobby', preview: null, players: 1, script: { cpuShare: Number } }])
  t.equal(live.length, 1, 'players see no room of a preview')
  t.match(await rooms.list(game.id, { previews: true }), [{ preview: null }, { preview: String, players: 1 }])
  const dashboard = (await owner.get('/games/pong/rooms')).text
  t.equal(dashboard.split('<code>lobby</code>').length, 3, 'the maker sees both')
  t.equal(dashboard.split('>preview<').length, 2, 'and which one is a preview’s')

  await deploy(build('second'))
  const bob = room('lobby')
  t.match(await bob.next('msg'), { data: { name: 'live' } }, 'a room keeps its script')
  await deploy(build('third'), '?restartRooms=true')
  t.equal(await bob.closed, 1012)
  t.match(await room('lobby').next('msg'), { data: { name: 'third' } })

  const listed = async () => (await owner.get('/mp/rooms', { host })).body.rooms.map(({ id }: { id: string }) => id)
  t.same(await listed(), ['lobby'])
  await deploy(build('hidden'))
  t.match(await room('secret-8f3a').next('msg'), { data: { name: 'hidden' } })
  t.same(await listed(), ['lobby'], 'a script can leave its rooms out of the list')
  t.match((await owner.get('/games/pong/rooms')).text, /<code>secret-8f3a<\/code>/, 'the maker sees them')
})
