// What `left` says, with a real server.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { endingOf, endingOfRefusal } from '../../clients/browser/multiplayer/close-codes.ts'
import { join, type Room } from '../../clients/browser/multiplayer.ts'
import { startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'
import { headersOf, signInTo } from '../plugins/multiplayer/kit.ts'
import { openPages } from '../plugins/multiplayer/page.ts'

t.test('a player learns why the session in a room has ended', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const admin = await platform.admin()
  const owner = await platform.signUp()
  const game = await platform.game(owner, { settings: { multiplayer: { maxPlayersPerRoom: 2 } } })
  const program = await platform.program(owner)
  const host = platform.gameHost(game.slug)
  const openPage = openPages(t, (platform.app.server.address() as { port: number }).port)
  const [ada, bob] = [await platform.signUp(), await platform.signUp()]
  const enter = async (player: typeof ada) => {
    const room = await join('lobby', { origin: openPage(headersOf(player, host)) })
    t.teardown(() => room.leave())
    return room
  }
  const leftOf = (room: Room) =>
    Promise.race([new Promise((resolve) => room.on('left', resolve)), sleep(timeLimit(), 'nothing', { ref: false })])
  for (const player of [ada, bob]) await signInTo(player, host)

  const first = await enter(ada)
  const other = await enter(bob)
  const kicked = leftOf(other)
  const replaced = leftOf(first)
  const second = await enter(ada)
  t.equal(await replaced, 'replaced', 'the second tab in a full room')
  second.kick(second.players.find(({ sub }) => sub === bob.id) as never)
  t.equal(await kicked, 'kicked')

  const signedOut = leftOf(second)
  await platform.app.identity.passwords.reset(ada.account.email, 'another yard battery fence')
  t.equal(await signedOut, 'signed_out')

  await signInTo(owner, host)
  const ends = async (end: () => Promise<{ status: number }>) => {
    const room = await enter(owner)
    const left = leftOf(room)
    await end()
    return left
  }
  const change = (enabled: boolean) =>
    program.patch(`/api/games/${game.id}`, { settings: { multiplayer: { enabled } } })
  t.equal(await ends(() => change(false)), 'closed')
  await change(true)
  t.equal(await ends(() => admin.submit(`/admin/games/${game.id}/suspend`, { reason: 'Under review.' })), 'suspended')
  await admin.submit(`/admin/games/${game.id}/lift`, {})
  await until(async () => (await program.get(`/api/games/${game.id}`)).body.suspended === null)
  t.equal(await ends(() => program.delete(`/api/games/${game.id}`)), 'gone')
})

t.test('close codes and refusals have their reasons', async (t) => {
  const expected = [
    [1008, 'rate_limited', 'rate_limited'],
    [1008, 'of a later version', 'closed'],
    [1009, '', 'too_large'],
    [1007, '', 'closed'],
    [4001, 'any words of a script', 'kicked'],
    [4002, '', 'replaced'],
    [4010, 'room_failed', 'room_failed'],
    [4012, 'replaced', 'replaced'],
    [1006, '', null],
    [1012, 'moving', null],
    [1013, 'too slow', null],
    [4100, '', null],
  ] as const
  for (const [code, reason, ending] of expected) t.equal(endingOf(code, reason), ending, `${code} ${reason}`)
  t.same(['auth_required', 'not_found', 'room_full'].map(endingOfRefusal), ['signed_out', 'gone', 'room_full'])
})
