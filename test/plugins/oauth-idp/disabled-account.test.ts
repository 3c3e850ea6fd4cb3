// Who is disabled is told so, with the reason, once they have proven that the account is theirs.
import t from 'tap'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'
import { startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

const REASON = 'You sold the account'
const SAID = /This account is disabled\. The reason: You sold the account\. Questions go to host@example\.org\./

t.test('a disabled player learns the reason with the right password alone, and by mail', async (t) => {
  const smtp = await startSmtp(t)
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens'],
    config: {
      mail: { driver: 'smtp', url: smtp.url, from: 'Yard <yard@example.org>' },
      portal: { legal: { contact: 'host@example.org' } },
    },
  })
  const admin = await platform.admin()
  const player = await platform.signUp({ email: 'ada@example.org', name: 'Ada' })
  const page = `/admin/players/${player.id}`
  t.match((await admin.get(page)).text, /name="reason"/)
  t.equal((await admin.submit(`${page}/disable`, { reason: ` ${REASON} ` })).status, 303)
  const rows = await platform.app.db.query<object>("select reason from audit where action = 'player.disable'")
  t.match(rows, [{ reason: REASON }])
  const mails = () => smtp.inbox.filter(({ to }) => to.includes('ada@example.org'))
  t.match(await until(() => mails()[0]), { subject: /is disabled/, text: SAID })

  const visitor = new Client(platform.app)
  const signIn = (password: string) => visitor.post('/api/auth/sign-in', { email: 'ada@example.org', password })
  t.match(await signIn(PASSWORD), { status: 403, body: { error: { code: 'account_disabled', message: SAID } } })
  const form = await visitor.submit('/sign-in', { email: 'ada@example.org', password: PASSWORD })
  t.match(form, { status: 403, text: SAID })
  t.notOk(form.headers['set-cookie'])
  const wrong = await signIn('another yard battery')
  t.match(wrong, { status: 401, body: { error: { code: 'invalid_credentials' } } })
  const unknown = await visitor.post('/api/auth/sign-in', { email: 'bob@example.org', password: PASSWORD })
  t.same(wrong.body, unknown.body, 'nobody else learns of it')

  await visitor.submit('/reset-password', { email: 'ada@example.org' })
  t.match(await until(() => mails()[1]), { subject: /is disabled/, text: SAID }, 'instead of a link')
  t.same(await platform.app.db.query("select id from one_time_tokens where purpose = 'reset'"), [])

  await admin.submit(`${page}/enable`, {})
  t.equal((await signIn(PASSWORD)).status, 200)
  await admin.submit(`${page}/disable`, {})
  const bare = 'This account is disabled. Questions go to host@example.org.'
  t.match(await signIn(PASSWORD), { status: 403, body: { error: { message: bare } } }, 'an old reason is none of now')
})
