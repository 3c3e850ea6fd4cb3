// What gives the server away needs a sign-in of the last ten minutes: a session may have been left open.
import t from 'tap'
import { PASSWORD, startPlatform } from '../kit/platform.ts'

const MINUTE = 60_000

t.test('what gives the server away needs a recent sign-in, and leads back to its page', async (t) => {
  const platform = await startPlatform(t)
  const admin = await platform.admin()
  const player = await platform.signUp({ email: 'ada@example.org' })
  const of = `/admin/players/${player.id}`
  const steps: [path: string, fields: Record<string, string>, page: string][] = [
    ['/admin/backup', {}, '/admin/storage'],
    ['/admin/credits', { player: player.id, amount: '5', description: 'A gift.', key: 'gift' }, '/admin/credits'],
    [`${of}/role`, { role: 'admin' }, of],
    [`${of}/delete`, { confirm: player.id.slice(-6) }, of],
  ]
  platform.clock.advance(11 * MINUTE)
  const before = await platform.app.db.query('select id from audit')
  for (const [path, fields, page] of steps) {
    const { status, headers } = await admin.submit(path, fields)
    const { pathname, searchParams } = new URL(String(headers.location), 'http://localhost')
    t.same(
      { status, pathname, ...Object.fromEntries(searchParams) },
      { status: 303, pathname: '/sign-in', prompt: 'login', returnTo: page },
      path,
    )
    t.match(await admin.get(String(headers.location)), { status: 200, text: /sign-in of the last ten minutes/ })
  }
  t.same(await platform.app.db.query('select id from audit'), before, 'nothing is done')
  t.match((await player.get('/api/auth/session')).body.user, { role: 'player' })
  t.equal((await admin.submit(`${of}/trust`, {})).status, 303, 'what can be taken back needs none')

  for (const [path, fields, page] of steps) {
    const credentials = { email: admin.account.email, password: PASSWORD, returnTo: page }
    t.match(await admin.submit('/sign-in', credentials), { status: 303, headers: { location: page } })
    const { status, headers } = await admin.submit(path, fields)
    t.ok(status < 400 && !headers.location?.startsWith('/sign-in'), `${path} then`)
  }
  t.equal((await admin.get(of)).status, 404)
})
