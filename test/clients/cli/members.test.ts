// `gameyard games members`, `invite`, `leave` and `transfer`.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
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
  const test = await owner.json('games', 'invite', slug, '--role', 'tester')
  await fetch(test.url, { method: 'POST', headers, redirect: 'manual' })
  t.match(await maker.gameyard('games', 'get', slug), { code: 1 }, 'a tester does not read it by the API')
  t.match(await maker.gameyard('games', 'leave', slug), { code: 0, stdout: /no longer in this game/ }, 'and leaves it')
  t.match(await maker.gameyard('games', 'leave', slug), { code: 1, stderr: /no such game/ })
})

t.test('of two who deploy at once the later one reads whose deploy was faster', async (t) => {
  const [platform, friend] = [await startTestServer(t), await startTestServer(t)]
  const { portal } = platform.server
  const owner = machine(t, { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: portal })
  const { slug } = await owner.json('games', 'create', '--title', 'Fast', '--description', '')
  const { url } = await owner.json('games', 'invite', slug)
  const headers = { cookie: friend.cookie, origin: portal, 'content-type': 'application/x-www-form-urlencoded' }
  await fetch(url, { method: 'POST', headers, redirect: 'manual' })

  const deploy = ['deploy', '.', '--game', slug]
  writeFileSync(join(owner.cwd, 'index.html'), '<title>One</title>')
  const first = await owner.json(...deploy, '--message', 'One')
  t.notOk(first.replaced)
  let meanwhile: Promise<{ code: number | null }> | undefined
  const slow = await beforeFinalize(t, portal, async () => {
    writeFileSync(join(owner.cwd, 'index.html'), '<title>Two</title>')
    meanwhile ??= owner.gameyard(...deploy, '--message', 'Two')
    await meanwhile
  })
  const maker = machine(t, { SERVICE_API_TOKEN: await friend.token(), SERVICE_BASE_URL: slow })
  writeFileSync(join(maker.cwd, 'index.html'), '<title>Three</title>')
  t.match(await maker.gameyard(...deploy, '--message', 'Three'), {
    code: 0,
    stdout: /This replaced the deploy of Ada \(dep_\w+\), which went live just now, after this one had begun\./,
  })
  t.match(await meanwhile, { code: 0 })
  t.match(await owner.gameyard('rollback', '--list', '--game', slug), {
    code: 0,
    stdout: /superseded by Ada after \d+ s +Ada +just now +1 +Two/,
  })
  t.match(await owner.gameyard('rollback', '--game', slug), {
    code: 0,
    stdout: /Undone {2}the deploy of Ada: Three \(live just now\)/,
  })
})

/** Serves a platform at another port, and does something before each build goes live. @returns its address */
async function beforeFinalize(t: Test, portal: string, work: () => Promise<void>): Promise<string> {
  const { host } = new URL(portal)
  const server = createServer(async (asked, answer) => {
    if (asked.url?.includes('/finalize')) await work()
    const { method, headers } = asked
    const forwarded = request(
      new URL(asked.url ?? '', portal),
      { method, headers: { ...headers, host } },
      (answered) => {
        answer.writeHead(answered.statusCode ?? 500, answered.headers)
        answered.pipe(answer)
      },
    )
    asked.pipe(forwarded)
  })
  t.teardown(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
