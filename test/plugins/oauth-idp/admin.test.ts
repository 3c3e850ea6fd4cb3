import { PNG } from 'pngjs'
import t from 'tap'
import { exchange, obtainCode, registerApp } from '../../kit/oauth.ts'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'

const only = ['oauth-idp', 'tokens']
const NEXT = 'another yard battery fence'

t.test('the pages are for administrators alone', async (t) => {
  const platform = await startPlatform(t, { only })
  const admin = await platform.admin()
  const player = await platform.signUp()
  const paths = ['/admin/players', `/admin/players/${player.id}`, '/admin/invitations']
  for (const path of paths) {
    t.equal((await admin.get(path)).status, 200, path)
    t.equal((await player.get(path)).status, 403, path)
    t.equal((await platform.stranger.get(path)).status, 303, path)
  }
  for (const step of ['disable', 'enable', 'role', 'sign-out', 'delete']) {
    const path = `/admin/players/${player.id}/${step}`
    t.equal((await player.submit(path, {})).status, 403, step)
    const foreign = await admin.submit(path, {}, { headers: { origin: 'http://pong.localhost:8080' } })
    t.equal(foreign.status, 403, `${step} from a game's page`)
  }
  t.equal((await player.submit('/admin/invitations', { note: '' })).status, 403)
  t.match((await admin.get('/')).text ?? '', /./)
  const program = await platform.program(admin)
  t.equal((await program.get('/admin/players')).status, 403, 'no token opens them')
})

t.test('players are found by name, address and id, page by page', async (t) => {
  const platform = await startPlatform(t, { only, config: { auth: { guests: true } } })
  const admin = await platform.admin()
  const ada = await platform.signUp({ name: 'Ada 100%', email: 'ada@example.org' })
  await platform.signUp({ name: 'Bob_B', email: 'bob@example.org' })
  await platform.stranger.post('/api/auth/guest', { name: 'Gus' })
  const found = async (q: string) => {
    const { text } = await admin.get(`/admin/players?q=${encodeURIComponent(q)}`)
    return ['Ada 100%', 'Bob_B', 'Gus', 'Admin'].filter((name) => text.includes(`">${name}</a>`))
  }
  t.same(await found(''), ['Ada 100%', 'Bob_B', 'Gus', 'Admin'])
  t.same(await found('ADA'), ['Ada 100%'])
  t.same(await found('bob@'), ['Bob_B'])
  t.same(await found(ada.id), ['Ada 100%'])
  t.same(await found('%'), ['Ada 100%'], 'signs of the database are only signs')
  t.same(await found('_'), ['Bob_B'])
  t.same(await found("' or 1=1 --"), [])
  t.match((await admin.get('/admin/players?q=nobody')).text, /Nobody found/)
  const like = async (filter: string) => {
    const { text } = await admin.get(`/admin/players?${filter}`)
    return ['Ada 100%', 'Bob_B', 'Gus', 'Admin'].filter((name) => text.includes(`">${name}</a>`))
  }
  await platform.app.identity.administration.setDisabled(ada.id, true)
  t.same(await like('role=admin'), ['Admin'])
  t.same(await like('role=moderator'), [])
  t.same(await like('role=player'), ['Ada 100%', 'Bob_B'])
  t.same(await like('state=disabled'), ['Ada 100%'])
  t.same(await like('state=guest'), ['Gus'])
  t.same(await like('state=guest&q=ada'), [])
  t.equal((await admin.get('/admin/players?role=king')).status, 400)

  for (let number = 0; number < 55; number++) await platform.stranger.post('/api/auth/guest', { name: `G${number}` })
  const first = await admin.get('/admin/players?q=G')
  const next = /href="(\/admin\/players\?q=G&amp;cursor=[^"]+)"/.exec(first.text)?.[1]?.replace('&amp;', '&')
  t.match((await admin.get(next as string)).text, />Gus<\/a>/)
})

t.test('who is disabled is out at once, everywhere, and can come back', async (t) => {
  const platform = await startPlatform(t, { only })
  const admin = await platform.admin()
  const player = await platform.signUp()
  const program = await platform.program(player)
  const app = await registerApp(platform, player)
  const { access_token: token } = (await exchange(platform.stranger, app, await obtainCode(player, app))).body
  const userinfo = () => new Client(platform.app, token).get('/api/oauth/userinfo')
  const waiting = await obtainCode(player, app)
  t.equal((await userinfo()).status, 200)

  t.match(await admin.submit(`/admin/players/${player.id}/disable`, {}), { status: 303 })
  t.match((await admin.get(`/admin/players/${player.id}`)).text, /disabled/)
  t.equal((await player.get('/settings')).status, 303)
  t.equal((await program.get('/api/cli/whoami')).status, 401)
  t.equal((await userinfo()).status, 401)
  t.equal((await exchange(platform.stranger, app, waiting)).status, 400)
  const { email } = player.account
  const signIn = () => platform.stranger.post('/api/auth/sign-in', { email, password: PASSWORD })
  t.equal((await signIn()).status, 403)

  t.equal((await admin.submit(`/admin/players/${player.id}/enable`, {})).status, 303)
  t.equal((await signIn()).status, 200)
  t.equal((await program.get('/api/cli/whoami')).status, 200, 'tokens hold again')
  t.equal((await userinfo()).status, 401, 'what had ended stays so')
})

t.test('rights hold at once, and the last administrator stays one', async (t) => {
  const platform = await startPlatform(t, { only })
  const admin = await platform.admin()
  const player = await platform.signUp()
  const step = (who: Client, id: string, name: string, role?: string) =>
    who.submit(`/admin/players/${id}/${name}`, role === undefined ? {} : { role })
  t.equal((await player.get('/admin/players')).status, 403)
  t.equal((await step(admin, player.id, 'role', 'admin')).status, 303)
  t.equal((await player.get('/admin/players')).status, 200)
  t.equal((await step(admin, admin.id, 'role', 'player')).status, 409, 'nobody takes their own rights by mistake')
  t.equal((await step(player, admin.id, 'role', 'player')).status, 303)
  t.equal((await admin.get('/admin/players')).status, 403)
  const alone = await player.submit('/settings/delete', { password: PASSWORD })
  t.match(alone, { status: 409, text: /only administrator/ })

  await step(player, admin.id, 'role', 'admin')
  const both = await Promise.all([step(player, admin.id, 'disable'), step(admin, player.id, 'disable')])
  t.ok(
    both.some(({ status }) => status !== 303),
    'two who shut each other out do not both succeed',
  )
  t.equal(await platform.app.db.em().count('PlayerRow' as never, { isAdmin: true, disabled: false } as never), 1)
  const left = (await admin.get('/settings')).status === 200 ? admin : player
  const last = await left.submit('/settings/delete', { password: PASSWORD })
  t.match(last, { status: 409, text: /only administrator/ }, 'one who is disabled is no other')
})

t.test('a moderator disables players who are no staff, and sees no more than that of the server', async (t) => {
  const platform = await startPlatform(t, { only })
  const admin = await platform.admin()
  const moderator = await platform.signUp({ name: 'Mo' })
  const player = await platform.signUp()
  t.match(await admin.submit(`/admin/players/${moderator.id}/role`, { role: 'king' }), { status: 400 })
  t.match(await admin.submit(`/admin/players/${moderator.id}/role`, { role: 'moderator' }), { status: 303 })
  t.match((await moderator.get('/api/auth/session')).body.user, { role: 'moderator', isAdmin: false })
  t.match((await moderator.get('/settings')).text, />Moderate</, 'the bar leads to their pages')
  const page = await moderator.get(`/admin/players/${player.id}`)
  t.match(page, { status: 200, text: /Disable/ })
  t.notMatch(page.text, /Delete player|Sign out everywhere|name="role"/)
  t.notMatch((await moderator.get(`/admin/players/${admin.id}`)).text, /<form[^>]*disable/)

  t.equal((await moderator.submit(`/admin/players/${player.id}/disable`, {})).status, 303)
  t.equal((await player.get('/settings')).status, 303, 'out at once')
  t.equal((await moderator.submit(`/admin/players/${player.id}/enable`, {})).status, 303)
  t.equal((await moderator.submit(`/admin/players/${admin.id}/disable`, {})).status, 403)
  for (const step of ['role', 'sign-out', 'delete'])
    t.equal((await moderator.submit(`/admin/players/${player.id}/${step}`, { role: 'admin' })).status, 403, step)
  t.equal((await moderator.submit(`/admin/players/${moderator.id}/role`, { role: 'admin' })).status, 403, 'nor rises')
  t.equal((await moderator.get('/admin/invitations')).status, 403)

  t.equal((await admin.submit(`/admin/players/${moderator.id}/role`, { role: 'player' })).status, 303)
  t.equal((await moderator.get('/admin/players')).status, 403, 'a role that was taken is gone at once')
})

t.test('an administrator makes a link for somebody who has lost their password and gets no mail', async (t) => {
  const platform = await startPlatform(t, { only, config: { auth: { guests: true }, mail: { driver: 'log' } } })
  const [admin, browser] = [await platform.admin(), new Client(platform.app)]
  const player = await platform.signUp({ email: 'ada@class.example', name: 'Ada' })
  const asked = await browser.submit('/reset-password', { email: 'ada@class.example' })
  t.match(asked, { status: 202, text: /This server sends no mail[\s\S]*Ask the person who runs it/ })
  const make = (id: string, by: Client = admin) => by.submit(`/admin/players/${id}/password-link`, {})
  const made = await make(player.id)
  t.match(made, { status: 201, text: /shown only this once/, headers: { 'cache-control': 'no-store' } })
  const link = /\/reset-password\/[\w-]{43}/.exec(made.text)?.[0] as string
  t.equal((await player.get('/settings')).status, 200, 'nothing has changed yet')
  t.notMatch((await admin.get(`/admin/players/${player.id}`)).text, link, 'nor is the link shown again')

  t.match(await browser.submit(link, { password: NEXT }), { status: 303 })
  t.equal((await browser.submit(link, { password: PASSWORD })).status, 410, 'it works once')
  t.equal((await player.get('/settings')).status, 303, 'all sessions have ended')
  const credentials = { email: 'ada@class.example', password: NEXT }
  const signedIn = await browser.post('/api/auth/sign-in', credentials)
  t.match(signedIn, { status: 200, body: { user: { emailVerified: false } } }, 'it proves nothing about the address')

  const guest = await platform.stranger.post('/api/auth/guest', { name: 'Gus' })
  const other = await platform.signUp()
  await platform.app.identity.administration.setRole(other.id, 'admin')
  await platform.app.identity.administration.setDisabled(player.id, true)
  for (const id of [admin.id, other.id, guest.body.user.id, player.id]) {
    t.equal((await make(id)).status, 409)
    t.notMatch((await admin.get(`/admin/players/${id}`)).text, 'password-link', 'nor is it offered')
  }
  t.same(await platform.app.db.query('select count(*) as links from one_time_tokens'), [{ links: 0 }])
})

t.test('an administrator downloads the data of a player, who is told', async (t) => {
  const platform = await startPlatform(t, { only })
  const admin = await platform.admin()
  const player = await platform.signUp({ email: 'ada@example.org', name: 'Ada' })
  const path = `/admin/players/${player.id}`
  t.match((await admin.get(path)).text, /Download their data/)
  const { status, headers, text } = await admin.submit(`${path}/export`, {})
  t.match([status, headers['content-disposition']], [200, `attachment; filename="${player.id}.json"`])
  // The player has one export at a time, and the answer ends a moment before the stream closes.
  const own = await until(async () => {
    const { status, body } = await player.get('/settings/export')
    return status === 200 && body
  })
  t.same(Object.keys(JSON.parse(text)), Object.keys(own))
  t.match(JSON.parse(text), { player: { id: player.id, email: 'ada@example.org' } })
  t.equal((await admin.submit(`/admin/players/${admin.id}/export`, {})).status, 409)
  t.equal((await admin.submit('/admin/players/ply_nobody/export', {})).status, 404)
})

t.test('staff give a player another name and the generated picture', async (t) => {
  const platform = await startPlatform(t, { only })
  const admin = await platform.admin()
  const [moderator, player] = [await platform.signUp({ name: 'Mo' }), await platform.signUp({ name: 'Rude word' })]
  await platform.app.identity.administration.setRole(moderator.id, 'moderator')
  const drawn = (await player.get(`/avatars/${player.id}`)).text
  await platform.app.identity.avatars.set(player.id, PNG.sync.write(new PNG({ width: 64, height: 64 })))
  t.not((await player.get(`/avatars/${player.id}`)).text, drawn)
  t.match(await moderator.submit(`/admin/players/${player.id}/rename`, { name: ' Player 7 ' }), { status: 303 })
  t.match(await moderator.submit(`/admin/players/${player.id}/picture/remove`, {}), { status: 303 })
  t.match((await player.get('/api/auth/session')).body.user, { name: 'Player 7', imageUrl: /\/avatars\/ply_\w+$/ })
  t.equal((await player.get(`/avatars/${player.id}`)).text, drawn)
  for (const step of ['rename', 'picture/remove']) {
    t.equal((await moderator.submit(`/admin/players/${admin.id}/${step}`, { name: 'King' })).status, 403)
    t.equal((await moderator.submit(`/admin/players/${moderator.id}/${step}`, { name: 'King' })).status, 409)
  }
})

t.test('signed out everywhere means everywhere', async (t) => {
  const platform = await startPlatform(t, { only })
  const admin = await platform.admin()
  const player = await platform.signUp()
  t.equal((await admin.submit(`/admin/players/${player.id}/sign-out`, {})).status, 303)
  t.equal((await player.get('/settings')).status, 303)
})

t.test('a deleted player is gone with all that belonged to them', async (t) => {
  const platform = await startPlatform(t, { only })
  const admin = await platform.admin()
  const player = await platform.signUp({ email: 'ada@example.org', name: 'Ada Lovelace' })
  const program = await platform.program(player)
  const app = await registerApp(platform, player)
  const { access_token: token } = (await exchange(platform.stranger, app, await obtainCode(player, app))).body
  let told = ''
  platform.app.events.on('player.deleted', ({ playerId }) => {
    told = playerId
  })
  const path = `/admin/players/${player.id}/delete`
  t.match(await admin.submit(path, { confirm: 'x' }), { status: 400, text: /Nothing was deleted/ })
  t.equal((await admin.submit(path, { confirm: player.id.slice(-6) })).status, 303)
  t.equal(told, player.id)
  t.equal((await player.get('/settings')).status, 303)
  t.equal((await program.get('/api/cli/whoami')).status, 401)
  t.equal((await new Client(platform.app, token).get('/api/oauth/userinfo')).status, 401)
  t.equal((await admin.get(`/admin/players/${player.id}`)).status, 404)
  const em = platform.app.db.em()
  for (const table of ['players', 'sessions', 'oauth_consents', 'oauth_apps', 'one_time_tokens', 'passkeys']) {
    const dump = JSON.stringify(await em.execute(`select * from ${table}`))
    t.notOk(dump.includes(player.id) || dump.includes('ada@example.org'), `nothing in ${table}`)
  }
  t.equal(
    (await platform.signUp({ email: 'ada@example.org' })).id === player.id,
    false,
    'the address is free, the id is not',
  )
})

t.test('a player takes their data along, then deletes the account', async (t) => {
  const platform = await startPlatform(t, { only, config: { auth: { guests: true } } })
  const player = await platform.signUp({ email: 'ada@example.org', name: 'Ada' })
  const app = await registerApp(platform, player)
  await obtainCode(player, app)
  const { status, body, text, headers } = await player.get('/settings/export')
  t.equal(status, 200)
  t.match(headers['content-disposition'], /attachment; filename="my-data.json"/)
  t.match(body, {
    player: { id: player.id, email: 'ada@example.org' },
    sessions: [{ createdAt: String }],
    connectedGames: [{ clientId: app.clientId }],
    applications: [{ clientId: app.clientId }],
  })
  t.notMatch(text, /hash|argon2|secret/i, 'and no secret of it')
  t.equal((await platform.stranger.get('/settings/export')).status, 303)

  t.match(await player.submit('/settings/delete', { password: 'wrong password' }), {
    status: 401,
    text: /not your password/,
  })
  t.equal((await player.get('/settings')).status, 200)
  t.match(await player.submit('/settings/delete', { password: PASSWORD }), { status: 303 })
  t.equal((await player.get('/settings')).status, 303)
  t.equal(
    (await platform.stranger.post('/api/auth/sign-in', { email: 'ada@example.org', password: PASSWORD })).status,
    401,
  )

  const guest = new Client(platform.app)
  await guest.post('/api/auth/guest', { name: 'Gus' })
  t.equal((await guest.submit('/settings/delete', { confirm: 'Gu' })).status, 400)
  t.equal((await guest.submit('/settings/delete', { confirm: 'Gus' })).status, 303)
})

t.test('one press signs every other browser out', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const others = [new Client(platform.app), new Client(platform.app)]
  const { email } = player.account
  for (const other of others) await other.post('/api/auth/sign-in', { email, password: PASSWORD })
  t.match((await player.get('/settings/security')).text, /Sign out everywhere else/)
  t.equal((await player.submit('/settings/sessions/revoke-others', {})).status, 303)
  for (const other of others) t.equal((await other.get('/settings')).status, 303)
  t.equal((await player.get('/settings')).status, 200)
  t.notMatch((await player.get('/settings/security')).text, /Sign out everywhere else/)
})
