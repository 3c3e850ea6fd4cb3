import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { FairQueue } from '../../../plugins/oauth-idp/players/fair-queue.ts'
import { PasswordHasher } from '../../../plugins/oauth-idp/players/passwords.ts'
import { startPlatform } from '../../kit/platform.ts'

t.test('two tasks run at once, and callers take turns', async (t) => {
  const queue = new FairQueue({ atOnce: 2, perCaller: 5, waiting: 7 })
  const started: string[] = []
  const ends: (() => void)[] = []
  const refused: string[] = []
  const run = (caller: string, name: string) =>
    queue
      .run(caller, () => {
        started.push(name)
        return new Promise<void>((end) => ends.push(end))
      })
      .catch(({ statusCode, headers }) => refused.push(`${name} ${statusCode} ${headers['retry-after']}`))
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'a6', 'a7'].map((name) => run(name.charAt(0), name))
  t.strictSame(started, ['a1', 'a2'])
  all.push(run('a', 'a8'), run('b', 'b2'), run('c', 'c1'))
  await Promise.all([all[8], all[7]])
  t.strictSame(refused, ['a8 429 5', 'a7 429 5'], 'the sixth of one caller, and the last of whoever has the most')
  all.push(run('d', 'd1'))
  await all[6]
  t.equal(refused.at(-1), 'a6 429 5')
  for (let taken = 0; taken < 9; taken++) {
    ends[taken]?.()
    await new Promise(setImmediate)
    t.ok(started.length <= taken + 3, `${started.length} were started when ${taken + 1} had ended`)
  }
  t.strictSame(started, ['a1', 'a2', 'a3', 'b1', 'c1', 'd1', 'a4', 'b2', 'a5'])
  await Promise.all(all)
  await queue.run('e', async () => t.pass('the queue is empty again'))
  await t.rejects(
    queue.run('e', () => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
  const both = [run('f', 'f1'), run('f', 'f2'), run('f', 'f3')]
  t.equal(started.length, 11, 'a failed task frees its place')
  for (let round = 0; round < 3; round++) {
    ends.at(-1)?.()
    ends.at(-2)?.()
    await new Promise(setImmediate)
  }
  await Promise.all(both)
})

t.test('hashes of one caller delay neither a file nor the hash of another', async (t) => {
  const file = join(t.testdir(), 'file')
  await writeFile(file, randomBytes(200_000))
  const hasher = new PasswordHasher({ memory: 19_456, passes: 2 })
  const order: string[] = []
  const note = (name: string) => () => order.push(name)
  const hashes = Array.from({ length: 12 }, () => hasher.hash('x'.repeat(256), 'mallory').then(note('hash')))
  await Promise.all([readFile(file).then(note('file')), hasher.hash('x', 'ada').then(note('ada')), ...hashes])
  t.ok(order.indexOf('file') <= 4, `${order}`)
  t.ok(order.indexOf('ada') <= 6, `${order}`)
})

t.test('sign-ins of one address that are too many at once get 429 with Retry-After', async (t) => {
  const auth = { passwordHashing: { memory: 1024, passes: 3 } }
  const platform = await startPlatform(t, { only: ['oauth-idp'], config: { auth } })
  const headers = { origin: platform.portal, host: new URL(platform.portal).host }
  const attempt = (number: number, remoteAddress: string) =>
    platform.app.inject({
      method: 'POST',
      url: '/api/auth/sign-in',
      headers,
      remoteAddress,
      body: { email: `player${number}@example.org`, password: 'x'.repeat(256) },
    })
  const many = Array.from({ length: 100 }, (_, number) => attempt(number, '203.0.113.1'))
  t.equal((await attempt(0, '203.0.113.2')).statusCode, 401)
  const answers = await Promise.all(many)
  const refused = answers.filter(({ statusCode }) => statusCode === 429)
  t.ok(refused.length > 0)
  for (const { headers, statusCode } of answers) {
    if (statusCode === 429) t.equal(headers['retry-after'], '5')
    else t.equal(statusCode, 401)
  }
})
