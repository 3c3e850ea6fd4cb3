import t from 'tap'
import { publish, startDns } from '../../kit/dns.ts'
import { inFull } from '../../kit/extent.ts'
import { machine, startTestServer } from './kit.ts'

t.test('a domain is brought, verified, made the main one and given up from the command line', async (t) => {
  const dns = await startDns(t)
  const platform = await startTestServer(t, {
    config: { plugins: { domains: { resolvers: [dns.address] } } },
  })
  const env = { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: platform.server.portal }
  const { gameyard, json } = machine(t, env)
  await json('games', 'create', '--title', 'Duo', '--description', 'Two dots.')
  const domains = (...words: string[]) => ['games', 'domains', ...words, '--game', 'duo']

  await inFull(t)?.test('there is none at first, and none for all names', async (t) => {
    t.match(await gameyard(...domains('list')), { code: 0, stdout: /has no domain of its own/ })
    t.match(await gameyard(...domains('add', '*.example.com')), { code: 1, stderr: /wildcard/ })
  })
  const { stdout } = await gameyard(...domains('add', 'play.example.com'))
  t.match(stdout, /TXT +_gameyard\.play\.example\.com +gameyard-verification=[\w-]+\n/)
  t.match(stdout, /CNAME +play\.example\.com +duo\.localhost\n/)
  t.match(await gameyard(...domains('verify', 'play.example.com')), {
    code: 1,
    stdout: /Not verified: its TXT record is not there yet/,
  })
  const { domains: listed } = await json(...domains('list'))
  t.match(listed, [{ name: 'play.example.com', state: 'pending', proof: 'missing' }])
  t.match(await gameyard(...domains('list')), {
    code: 0,
    stdout:
      /play\.example\.com +pending +its TXT record[^\n]+\n\nAdd these records[\s\S]+TXT +_gameyard\.play\.example\.com/,
  })
  publish(dns, listed[0].records)
  t.match(await gameyard(...domains('verify', 'play.example.com')), { code: 0, stdout: /Verified +http:\/\/play/ })
  t.match(await json(...domains('primary', 'play.example.com')), { primary: true })
  t.match(await gameyard(...domains('list')), {
    stdout: /play\.example\.com \(main\) +verified +nothing\n$/,
  })
  await inFull(t)?.test('and that is taken back', async (t) => {
    t.match(await json(...domains('primary', 'play.example.com', '--off')), { primary: false })
  })
  t.match(await json(...domains('remove', 'play.example.com')), { removed: 'play.example.com' })
  t.match(await gameyard(...domains('remove', 'play.example.com')), { code: 1, stderr: /no such domain/ })
})
