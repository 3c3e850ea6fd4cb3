import t from 'tap'
import { startKernel } from '../../kit/kernel.ts'

/** Returns the remaining requests of the rate limit, which show how the platform identifies a caller. */
async function callers(t: Parameters<typeof startKernel>[0], trustProxy: unknown) {
  const app = await startKernel(t, { config: { trustProxy, limits: { requestsPerMinute: 1000 } } })
  const left = async (remoteAddress: string, forwardedFor?: string) => {
    const headers = { host: 'localhost:8080', ...(forwardedFor ? { 'x-forwarded-for': forwardedFor } : {}) }
    const answer = await app.inject({ url: '/docs/api', remoteAddress, headers })
    return Number(answer.headers['ratelimit-remaining'])
  }
  return { app, left }
}

t.test('behind a trusted proxy a visitor is who the proxy says, and nobody else', async (t) => {
  const { app, left } = await callers(t, ['127.0.0.1', '10.0.0.0/8'])
  t.equal(await left('127.0.0.1', '203.0.113.1'), 999)
  t.equal(await left('127.0.0.1', '203.0.113.1'), 998, 'the same visitor')
  t.equal(await left('127.0.0.1', '203.0.113.2'), 999, 'another one')
  t.equal(await left('127.0.0.1', '198.51.100.9, 203.0.113.1'), 997, 'what a visitor puts before it is not believed')
  t.equal(await left('127.0.0.1', '203.0.113.1, 10.1.2.3'), 996, 'a second trusted proxy is looked through')
  t.equal(await left('192.0.2.77', '203.0.113.1'), 999, 'who does not come through the proxy is who they are')
  t.equal(await left('192.0.2.77', '203.0.113.2'), 998)
  for (const junk of ['unknown', '"', ',,,', 'a'.repeat(4000)])
    t.ok((await left('127.0.0.1', junk)) >= 0, `${junk.slice(0, 10)} breaks nothing`)
  const forged = { host: 'localhost:8080', 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'gopher' }
  const page = await app.inject({ url: '/docs/api', remoteAddress: '127.0.0.1', headers: forged })
  t.equal(page.statusCode, 200)
  t.notMatch(page.body, /evil\.test|gopher/, 'public addresses come from the configuration alone')
})

t.test('one client is one address, however the proxy writes it', async (t) => {
  const { left } = await callers(t, ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])
  const written: string[][] = [
    ['203.0.113.7', '203.0.113.7:51234', ' 203.0.113.7:1 ', '::ffff:203.0.113.7', '[::ffff:203.0.113.7]:443'],
    ['203.0.113.8, 10.0.0.1:443', '203.0.113.8:5, [fd00::1]:443', '198.51.100.1:2, 203.0.113.8:6,10.0.0.1'],
    ['2001:db8::1', '[2001:db8::1]:51234', '[2001:db8::1]', '2001:DB8::1', '2001:db8::1%eth0', '2001:0db8:0::0001'],
    ['127.0.0.1', 'unknown', '_hidden', '203.0.113.7, unknown', '1.2.3.4.5:80', '[203.0.113.7', '999.1.1.1:80', ',,,'],
    ['10.9.9.9', '203.0.113.7, unknown, 10.9.9.9', '"203.0.113.7", 10.9.9.9:80'],
  ]
  for (const forms of written)
    for (const [index, form] of forms.entries()) t.equal(await left('127.0.0.1', form), 999 - index, form)
  t.equal(await left('192.0.2.1', '203.0.113.50:1'), 999, 'who is not a proxy is not believed')
  t.equal(await left('192.0.2.1', '203.0.113.51:1'), 998)
})

t.test('without trustProxy nobody is believed', async (t) => {
  const { left } = await callers(t, false)
  t.equal(await left('127.0.0.1', '203.0.113.1'), 999)
  t.equal(await left('127.0.0.1', '203.0.113.2'), 998)
})
