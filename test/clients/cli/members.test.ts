// `gameyard games members`, `invite`, `leave` and `transfer`.
import t from 'tap'
import { machine, startTestServer } from './kit.ts'

t.test('the owner invites from a terminal, and a maker leaves from another', async (t) => {
  const [platform, friend] = [await startTestServer(t), await startTestServer(t)]
  const { portal } = platform.server
  const owner = machine(t, { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: portal })
  const { id, slug } = await owner.json('games', 'create', '--title', 'Ours', '--description', 'Made together.')
  const invited = await owner.gameyard('games', 'invite', slug)
  t.match(invited, { code: 0, stdout: /\/invitations\/inv_\w+\/[\w-]{22}\nFor 20 players, until 20\d\d-/ })
  const { url } = await owner.json('games', 'invite', slug, '--role', 'tester')
  t.match(url, /\/invitations\/inv_/)
  t.match(await owner.gameyard('games', 'invite', slug, '--role', 'boss'), { code: 2, stderr: /maker, tester/ })
  t.match(await owner.gameyard('games', 'invite', slug, '--player', 'ply_none'), { code: 1, stderr: /no such player/ })

  const [link = ''] = /\S+/.exec(invited.stdout) ?? []
  const headers = { cookie: friend.cookie, origin: portal, 'content-type': 'application/x-www-form-urlencoded' }
  t.equal((await fetch(link, { method: 'POST', headers, redirect: 'manual' })).status, 303)
  const maker = machine(t, { SERVICE_API_TOKEN: await friend.token(), SERVICE_BASE_URL: portal })
  t.match(await maker.json('games', 'get', slug), { id, role: 'maker', makers: [{}, { name: 'Ada' }] })
  t.match((await owner.gameyard('games', 'members', slug)).stdout, /Ada +maker +20\d\d-/)
  t.match(await maker.gameyard('games', 'invite', slug), {
    code: 1,
    stderr: /Only the owner of this game may do this\./,
  })
  t.match(await owner.gameyard('games', 'transfer', slug, 'Nobody'), { code: 1, stderr: /only to one of its makers/ })
  const { player } = (await owner.json('games', 'members', slug)).members[1]
  t.match(await owner.gameyard('games', 'transfer', slug, player.id), {
    code: 0,
    stdout: /offers the game to Ada, until/,
  })
  t.match(await maker.gameyard('games', 'transfer', slug), { code: 0, stdout: /It stores 0 bytes\./ })
  t.match(await maker.gameyard('games', 'transfer', slug, 'Ada', '--accept'), {
    code: 2,
    stderr: /Leave the player out/,
  })
  t.match(await maker.gameyard('games', 'transfer', slug, '--decline'), { code: 0, stdout: /The offer has ended/ })
  t.match(await maker.gameyard('games', 'transfer', slug, '--accept'), { code: 1, stderr: /not offered to anybody/ })
  t.match(await maker.gameyard('games', 'leave', slug), { code: 0, stdout: /no longer in this game/ })
  t.match(await maker.gameyard('games', 'get', slug), { code: 1, stderr: /You have no game ours/ })
  t.match(await owner.gameyard('games', 'leave', slug), { code: 1, stderr: /The owner of a game stays in it/ })
})
