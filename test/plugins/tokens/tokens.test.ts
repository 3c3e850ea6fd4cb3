import t from 'tap'
import { ALL_SCOPES } from '../../../plugins/tokens/scopes.ts'
import { isWellFormed, newToken } from '../../../plugins/tokens/token-format.ts'
import { Client, startPlatform } from '../../kit/platform.ts'
import { startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

const only = ['oauth-idp', 'tokens']

t.test('a token is made, shown once, used and revoked', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp({ name: 'Ada', email: 'ada@example.org' })
  const made = await player.post('/api/tokens', { label: ' laptop ', scopes: ['games:write', 'games:read'] })
  t.match(made, { status: 201, headers: { 'cache-control': 'no-store' } })
  const { token, ...record } = made.body
  t.match(token, /^svc_api_[0-9A-Za-z]{38}$/)
  t.same(record, {
    id: record.id,
    label: 'laptop',
    kind: 'api',
    prefix: token.slice(0, 12),
    scopes: ['games:read', 'games:write'],
    createdAt: '2026-11-21T12:00:00.000Z',
    lastUsedAt: null,
    expiresAt: '2027-02-19T12:00:00.000Z',
  })
  t.same((await player.get('/api/tokens')).body, { tokens: [record], nextCursor: null })

  const program = new Client(platform.app, token)
  t.same((await program.get('/api/cli/whoami')).body, {
    user: { id: player.id, name: 'Ada', email: 'ada@example.org' },
    tokenLabel: 'laptop',
  })
  const other = await platform.signUp()
  t.equal((await other.delete(`/api/tokens/${record.id}`)).status, 404)
  await t.rejects(platform.app.tokens.revoke(other.id, record.id), { code: 'not_found' }, 'whoever asks, and by what')
  t.equal((await player.delete(`/api/tokens/${record.id}`)).status, 204)
  t.match(await program.get('/api/cli/whoami'), { status: 401, body: { error: { code: 'unauthorized' } } }, 'at once')
  t.equal((await player.delete(`/api/tokens/${record.id}`)).status, 404)
})

t.test('what is not a choice is refused', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const good = { label: 'x', scopes: ['games:read'] }
  const cases: object[] = [
    { label: '' },
    { label: '\u200b' },
    { label: '   ' },
    { label: 'x'.repeat(81) },
    { label: 1 },
    { scopes: [] },
    { scopes: ['games:destroy'] },
    { scopes: ['games:read', 'games:read'] },
    { scopes: 'games:read' },
    { expiresInDays: 31 },
    { expiresInDays: '30' },
    { expiresInDays: 0 },
    { kind: 'cli' },
  ]
  for (const change of cases) {
    const answer = await player.post('/api/tokens', { ...good, ...change })
    t.match(answer, { status: 400, body: { error: { code: 'invalid_request' } } }, JSON.stringify(change))
  }
  const day = 86_400_000
  for (const [days, expected] of [
    [30, 30],
    [90, 90],
    [365, 365],
    [null, null],
    [undefined, 90],
  ] as const) {
    const { body } = await player.post('/api/tokens', {
      ...good,
      ...(days === undefined ? {} : { expiresInDays: days }),
    })
    const life = body.expiresAt && (Date.parse(body.expiresAt) - Date.parse(body.createdAt)) / day
    t.equal(life, expected, String(days))
  }
})

t.test('tokens are managed from the browser alone', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  t.equal((await program.get('/api/tokens')).status, 403)
  t.equal((await program.post('/api/tokens', { label: 'x', scopes: ['games:read'] })).status, 403)
  t.equal((await platform.stranger.get('/api/tokens')).status, 401)
  t.equal((await player.get('/api/cli/whoami')).status, 401, 'and a browser session is no token')
  const foreign = { headers: { origin: 'http://pong.localhost:8080' } }
  t.equal((await player.post('/api/tokens', { label: 'x', scopes: ['games:read'] }, foreign)).status, 403)
})

t.test('a token ends itself', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const { token } = await platform.app.tokens.create({ playerId: player.id, kind: 'cli', label: 'cli', scopes: [] })
  t.match(token, /^svc_cli_/)
  const cli = new Client(platform.app, token)
  t.equal((await cli.get('/api/oauth/apps')).status, 200, 'a CLI token may do everything')
  t.match((await player.get('/api/tokens')).body, { tokens: [{ kind: 'cli', scopes: ALL_SCOPES }] })
  t.equal((await cli.delete('/api/cli/tokens')).status, 204)
  t.equal((await cli.get('/api/cli/whoami')).status, 401)
})

t.test('a token ends when its time is over', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const { body } = await player.post('/api/tokens', { label: 'x', scopes: ['games:read'], expiresInDays: 30 })
  const program = new Client(platform.app, body.token)
  platform.clock.advance(30 * 86_400_000 - 1)
  t.equal((await program.get('/api/cli/whoami')).status, 200)
  platform.clock.advance(1)
  t.equal((await program.get('/api/cli/whoami')).status, 401, 'to the millisecond, whatever is remembered')
})

t.test('its use is noted to the minute', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const [{ id }] = (await player.get('/api/tokens')).body.tokens
  const other = await platform.program(player)
  const lastUsed = async (isIt: boolean): Promise<string> => {
    const { tokens } = (await player.get('/api/tokens')).body
    return tokens.find((token: { id: string }) => (token.id === id) === isIt).lastUsedAt
  }
  // It is written behind the request.
  const noted = (isIt: boolean, time: string) => until(async () => (await lastUsed(isIt)) === time)
  await program.get('/api/cli/whoami')
  await noted(true, '2026-11-21T12:00:00.000Z')
  platform.clock.advance(59_000)
  await program.get('/api/cli/whoami')
  await other.get('/api/cli/whoami')
  await noted(false, '2026-11-21T12:00:59.000Z')
  t.equal(await lastUsed(true), '2026-11-21T12:00:00.000Z', 'the use before is not written')
  platform.clock.advance(1000)
  await program.get('/api/cli/whoami')
  await noted(true, '2026-11-21T12:01:00.000Z')
})

t.test('a token that ran out is listed for ninety days more', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock } = platform
  const { id: playerId } = await platform.signUp()
  const create = (label: string, expiresInDays: 30 | null) =>
    app.tokens.create({ playerId, label, scopes: ['games:read'], expiresInDays })
  await create('for a month', 30)
  await create('for good', null)
  const labels = async () =>
    (await app.tokens.list(playerId, { limit: 10 })).tokens.map(({ label }) => label).toSorted()
  const { signal } = new AbortController()
  clock.advance(119 * 86_400_000)
  await app.tokens.sweep(signal)
  t.same(await labels(), ['for a month', 'for good'])
  clock.advance(2 * 86_400_000)
  await app.tokens.sweep(signal)
  t.same(await labels(), ['for good'])
})

t.test('a typing error is told by the checksum', async (t) => {
  for (let round = 0; round < 50; round++) {
    const token = newToken(round % 2 ? 'api' : 'cli')
    t.equal(isWellFormed(token), true)
    const at = 8 + (round % 38)
    const typo = token.slice(0, at) + (token[at] === 'a' ? 'b' : 'a') + token.slice(at + 1)
    t.equal(isWellFormed(typo), false, `at ${at}`)
  }
  t.equal(isWellFormed('svc_api_0000000000000000000000000000000029crqX'), false)
  // CRC-32 of 32 zeros is 0xa7de7b3a: a value computed elsewhere, so that scanners can rely on the form.
  t.equal(isWellFormed(`svc_api_${'0'.repeat(32)}${base62(crcOf('0'.repeat(32)))}`), true)
})

/** Bit by bit, as the standard writes it. */
function crcOf(text: string): number {
  let crc = 0xffffffff
  for (const byte of Buffer.from(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}

function base62(value: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let text = ''
  for (let rest = value; text.length < 6; rest = Math.floor(rest / 62)) text = digits[rest % 62] + text
  return text
}

t.test('the settings page makes and revokes tokens without a script', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  t.match((await player.get('/settings/tokens')).text, /No tokens yet/)

  const made = await player.submit('/settings/tokens', { label: 'laptop', access: 'builder', expires: '30' })
  t.match(made, { status: 200, headers: { 'cache-control': 'no-store' } })
  const token = /svc_api_[0-9A-Za-z]{38}/.exec(made.text)?.[0] as string
  t.equal((await new Client(platform.app, token).get('/api/cli/whoami')).status, 200)
  const { tokens } = (await player.get('/api/tokens')).body
  t.match(tokens, [{ scopes: ['assets:read', 'games:read', 'games:write', 'deployments:write'] }])
  t.equal(tokens[0].expiresAt, '2026-12-21T12:00:00.000Z')
  t.notMatch((await player.get('/settings/tokens')).text, token, 'shown only once')

  platform.clock.advance(1)
  await player.submit('/settings/tokens', {
    label: 'ci',
    access: 'custom',
    scopes: ['oauth:read', 'x'],
    expires: 'null',
  })
  t.match((await player.get('/api/tokens')).body.tokens[0], { scopes: ['oauth:read'], expiresAt: null })
  const refused = await player.submit('/settings/tokens', { label: 'ci', access: 'custom', expires: '30' })
  t.match(refused, { status: 400, text: /Choose at least one scope/ })

  const path = `/settings/tokens/${tokens[0].id}/revoke`
  t.match(await player.submit(path, {}), { status: 303, headers: { location: /^\/settings\/tokens\?done=revoked$/ } })
  t.equal((await new Client(platform.app, token).get('/api/cli/whoami')).status, 401)
})

t.test('a mail tells the player of a new API token', async (t) => {
  const { inbox, tokenNotices, url } = await startSmtp(t)
  const mail = { driver: 'smtp', url, from: 'Yard <yard@example.org>' }
  const platform = await startPlatform(t, { only, config: { mail } })
  const player = await platform.signUp({ email: 'ada@example.org' })
  const token = { label: 'laptop', scopes: ['games:read', 'games:write'] }
  t.equal((await player.post('/api/tokens', token)).status, 201)
  await until(() => tokenNotices.length === 1)
  t.match(tokenNotices, [{ to: ['ada@example.org'], subject: 'A new API token for your account' }])
  t.match(tokenNotices[0]?.text, /“laptop” acts[\s\S]*until 2027-02-19[\s\S]*games:read, games:write/)
  t.match(tokenNotices[0]?.text, `${platform.app.origins.portal}/settings/tokens`)
  t.equal((await player.post('/api/tokens', { ...token, scopes: ['all'] })).status, 400)
  t.same(inbox, [])
})
