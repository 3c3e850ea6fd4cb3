// An account that somebody else has taken over is given back by the administrator of the server.
import t from 'tap'
import { AccountRescue } from '../../../plugins/oauth-idp/index.ts'
import { Passkey } from '../../../plugins/oauth-idp/passkeys/entities.ts'
import { UpstreamAccount } from '../../../plugins/oauth-idp/upstream/entities.ts'
import { Client, PASSWORD, type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens']
const NEXT = 'another yard battery fence'

/** Adds what a thief leaves behind: two passkeys, the account of a provider, a token and a pending link. */
async function leaveMethods(platform: Platform, player: PlayerClient): Promise<Client> {
  const em = platform.app.db.em()
  const row = { playerId: player.id, createdAt: new Date(), lastUsedAt: new Date() }
  const key = { publicKey: 'key', counter: 0, transports: [], rpId: null, label: 'Key', ...row }
  for (const id of ['one', 'two']) await em.insert(Passkey, { id, ...key })
  await em.insert(UpstreamAccount, { provider: 'github', subject: '1', label: 'thief', ...row })
  await player.submit('/settings/email', { email: 'thief@example.org', password: PASSWORD })
  return platform.program(player)
}

const rescueOf = ({ app }: Platform) => new AccountRescue({ ...app, ...app.identity })

async function countsOf({ app }: Platform): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of ['passkeys', 'upstream_accounts', 'api_tokens', 'sessions', 'one_time_tokens']) {
    const [row] = await app.db.query<{ n: number }>(`select count(*) as n from ${table}`)
    counts[table] = Number(row?.n)
  }
  return counts
}

t.test('a new password from the shell removes what somebody else may have added', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp({ email: 'ada@example.org' })
  const program = await leaveMethods(platform, player)
  const before = await countsOf(platform)
  t.same(before, { passkeys: 2, upstream_accounts: 1, api_tokens: 1, sessions: 1, one_time_tokens: 1 })

  const kept = await rescueOf(platform).resetPassword('ada@example.org', NEXT, { keepMethods: true })
  t.same(kept.removed, {})
  t.same(await countsOf(platform), { ...before, sessions: 0, one_time_tokens: 0 })
  t.equal((await program.get('/api/cli/whoami')).status, 200)

  const { removed } = await rescueOf(platform).resetPassword('ada@example.org', NEXT)
  t.same(removed, { passkeys: 2, providers: 1, tokens: 1 })
  t.same(
    await countsOf(platform),
    { passkeys: 0, upstream_accounts: 0, api_tokens: 0, sessions: 0, one_time_tokens: 0 },
    'nothing of before signs in',
  )
  t.equal((await program.get('/api/cli/whoami')).status, 401)
})

t.test('an address that somebody else has set is changed', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp({ email: 'thief@example.org' })
  await platform.signUp({ email: 'bob@example.org' })
  await leaveMethods(platform, player)
  const change = (to: string) => rescueOf(platform).changeEmail('thief@example.org', to)
  await t.rejects(change('bob@example.org'), { code: 'email_taken' })
  await t.rejects(change('Thief@example.org'), { code: 'invalid_request' })
  await t.rejects(change('no address'), { code: 'invalid_request' })
  await t.rejects(rescueOf(platform).changeEmail('nobody@example.org', 'new@example.org'), { code: 'not_found' })
  t.equal((await player.get('/settings')).status, 200)

  t.match(await change('Ada@example.org'), { id: player.id, email: 'ada@example.org', emailVerified: false })
  t.equal((await player.get('/settings')).status, 303, 'sessions end')
  t.match(await countsOf(platform), { one_time_tokens: 0 })
  const signIn = (email: string) => new Client(platform.app).post('/api/auth/sign-in', { email, password: PASSWORD })
  t.equal((await signIn('thief@example.org')).status, 401)
  t.equal((await signIn('ada@example.org')).status, 200)
  const rows = await platform.app.db.query<object>('select * from audit')
  t.match(rows, [{ action: 'player.email', target_id: player.id }])
  t.notMatch(JSON.stringify(rows), /@example\.org/)
})
