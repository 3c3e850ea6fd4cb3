import t from 'tap'
import { type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { linkIn, startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']
const DAY = 86_400_000

t.test('an invitation by mail is for the first player who opens its link', async (t) => {
  const { inbox, url } = await startSmtp(t)
  const mail = { driver: 'smtp', url, from: 'Yard <yard@example.org>' }
  const platform = await startPlatform(t, { only, config: { mail } })
  const owner = await platform.signUp({ name: 'Olu' })
  const known = await platform.signUp({ name: 'Mae', email: 'mae@example.org' })
  const [ben, cleo] = [await platform.signUp(), await platform.signUp()]
  const game = await platform.game(owner, { title: 'Duo', visibility: 'private' })
  const invite = (email: string, fields = {}) =>
    owner.post(`/api/games/${game.id}/invitations`, { role: 'maker', email, ...fields })
  const mailTo = (address: string) => until(() => inbox.find(({ to }) => to.includes(address)))

  const [stranger, member] = [await invite(' New@Example.org '), await invite('mae@example.org')]
  t.match(stranger, { status: 201, body: { email: 'new@example.org', player: null, usesLeft: 1, role: 'maker' } })
  t.equal(member.status, 201)
  t.same(Object.keys(member.body), Object.keys(stranger.body), 'nothing tells who has an account')
  const [toStranger, toMember] = [await mailTo('new@example.org'), await mailTo('mae@example.org')]
  t.equal(toStranger.subject, 'Olu invites you to make Duo together · Gameyard')
  const plain = ({ text }: { text: string }) => text.replace(/https?:\/\/\S+/, '')
  t.equal(plain(toMember), plain(toStranger), 'both mails are the same')
  t.match(toStranger.text, /Olu invites you to make Duo together on Gameyard\..*for one player.*two weeks/s)
  t.notMatch((await known.get('/games')).text, /invites you/)

  const link = linkIn(toStranger)
  t.equal((await ben.submit(link, {})).status, 303)
  t.match(await cleo.submit(link, {}), { status: 410, text: /This invitation has been used\. Ask for a new one\./ })
  t.match((await owner.get(`/api/games/${game.id}/invitations`)).body.invitations, [{ email: 'mae@example.org' }])
  const team = (await owner.get('/games/duo/team')).text
  t.match(team, /<bdi>mae@example.org<\/bdi> as maker/)
  const everywhere = async (player: PlayerClient) =>
    (await Promise.all(['team', 'activity'].map((page) => player.get(`/games/duo/${page}`)))).map(({ text }) => text)
  for (const text of await everywhere(ben)) t.notMatch(text, /mae@|new@/, 'addresses are for the owner')
  t.equal((await ben.get(`/api/games/${game.id}/invitations`)).status, 403)

  t.match(await invite('mae@example.org'), { status: 409, body: { error: { code: 'already_invited' } } })
  t.match(await invite('no address'), { status: 400, body: { error: { message: /whole email address/ } } })
  t.equal((await invite('a@example.org', { playerId: cleo.id })).status, 400)
  const page = (name: string) => owner.submit('/games/duo/team/invitations', { role: 'tester', name })
  t.match(await page('two@example.org'), { status: 303 })
  t.match(await mailTo('two@example.org'), { subject: 'Olu invites you to test Duo · Gameyard' })
  t.match(await page('two@@'), {
    status: 400,
    text: /id="field-name-error".{1,400}whole email address/s,
  })
})

t.test('invitations by mail are limited by player and by address', async (t) => {
  const { url } = await startSmtp(t)
  const mail = { driver: 'smtp', url, from: 'Yard <yard@example.org>' }
  const platform = await startPlatform(t, { only, config: { mail, limits: { rateLimits: true } } })
  const invites = async (name: string) => {
    const owner = await platform.signUp()
    const game = await platform.game(owner, { title: name })
    return async (email: string) =>
      (await owner.post(`/api/games/${game.id}/invitations`, { role: 'maker', email })).status
  }
  const owners = await Promise.all(['One', 'Two', 'Three', 'Four'].map(invites))
  const [first] = owners
  const statuses = []
  for (const invite of owners) statuses.push(await invite('same@example.org'))
  t.same(statuses, [201, 201, 201, 429], 'three a day for an address')
  let sent = 1
  while (sent < 40 && (await first?.(`p${sent}@example.org`)) === 201) sent++
  t.equal(sent, 30, 'thirty a day for a player')
  platform.clock.advance(DAY + 1)
  t.equal(await first?.('later@example.org'), 201)
})

t.test('without mail an invitation by mail is refused in a sentence', async (t) => {
  const platform = await startPlatform(t, { only })
  const owner = await platform.signUp()
  const game = await platform.game(owner, { title: 'Duo' })
  t.match(await owner.post(`/api/games/${game.id}/invitations`, { role: 'maker', email: 'a@example.org' }), {
    status: 409,
    body: {
      error: {
        code: 'no_mail',
        message: 'This platform sends no mail. Create a link instead, and send it yourself.',
      },
    },
  })
  t.same((await owner.get(`/api/games/${game.id}/invitations`)).body.invitations, [])
  t.match((await owner.get('/games/duo/team')).text, />Name of a player</)
})
