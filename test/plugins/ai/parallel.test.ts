// Tests many concurrent requests with credit for exactly 7: exactly 7 succeed, on every database and on two nodes.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { aiConfig, openai, startAiServer } from '../../kit/ai-server.ts'
import { amount, inFull } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { makeToken } from '../../kit/remote-sign-up.ts'
import { startServer } from '../../kit/server.ts'

const CALLS = amount(50, 200)
const CREDIT = 7
const request = { type: 'text', prompt: 'Greet.', maxOutputTokens: 1000 }
const billing = { plugins: { billing: { signUpCredits: CREDIT } } }
const secret = 'the same on every node, and long enough'

/** Starts a slow provider, so that all requests run at once. */
const slow = (t: Test) =>
  startAiServer(t, async (asked, response) => {
    await sleep(50 + Math.random() * 100)
    return openai('Hello.', 900)(asked, response)
  })

/** Asks again on a machine so busy that a request waited too long for one of the database's connections. */
async function answered<T extends { status: number }>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 503) return answer
  }
}

function judge(t: Test, answers: { status: number; body: unknown }[], asked: number): void {
  const count = (status: number) => answers.filter((answer) => answer.status === status).length
  t.same({ 200: count(200), 402: count(402) }, { 200: CREDIT, 402: CALLS - CREDIT })
  for (const { body } of answers.filter(({ status }) => status === 402))
    t.match(body, { error: { code: 'insufficient_credits' }, balance: 0, required: 1 })
  t.equal(asked, CREDIT, 'the provider was asked for those alone')
}

async function onOneNode(t: Test, config: Record<string, unknown>): Promise<void> {
  const provider = await slow(t)
  const platform = await startPlatform(t, { config: { ai: aiConfig(provider), ...billing, ...config } })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const answers = await Promise.all(
    Array.from({ length: CALLS }, () => answered(() => program.post('/api/ai/generate', request))),
  )
  judge(t, answers, provider.requests.length)
  t.same(await platform.app.credits.balance(owner.id), { balance: 0, held: 0, available: 0 })
  const { entries } = await platform.app.credits.ledger(owner.id, { limit: 100 })
  t.equal(entries.length, CREDIT + 1)
  t.equal(
    entries.reduce((sum, { amount }) => sum + amount, 0),
    0,
  )
}

t.test('on SQLite', (t) => onOneNode(t, {}))

inFull(t)?.test('on PostgreSQL', needsPostgres, async (t) => {
  const database = { driver: 'postgres', url: await (await startPostgres()).database() }
  await onOneNode(t, { database, secret })
})

t.test('on two servers with one PostgreSQL', needsPostgres, async (t) => {
  const provider = await slow(t)
  const url = await (await startPostgres()).database()
  const config = {
    ai: aiConfig(provider),
    ...billing,
    secret,
    database: { driver: 'postgres', url },
    limits: { rateLimits: false },
    log: { level: 'info' },
  }
  const one = await startServer(t, { config })
  const two = await startServer(t, { config })
  const token = await makeToken(one.portal, ['ai:generate'])
  const call = async (portal: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${portal}/api/ai/generate`, { method: 'POST', headers, body: JSON.stringify(request) })
    return { status: answer.status, body: await answer.json() }
  }
  const portals = [one.portal, two.portal]
  const answers = await Promise.all(
    Array.from({ length: CALLS }, (_, index) => answered(() => call(portals[index % 2] as string))),
  )
  judge(t, answers, provider.requests.length)
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(
    `select balance::int, held::int, (select sum(amount)::int from credit_ledger) as sum,
     (select count(*)::int from credit_holds) as holds from credit_accounts`,
  )
  await client.end()
  t.same(rows, [{ balance: 0, held: 0, sum: 0, holds: 0 }])
})
