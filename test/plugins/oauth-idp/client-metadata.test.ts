import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, LookupFunction } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fetchMetadata, isPublic } from '../../../plugins/oauth-idp/apps/client-metadata.ts'
import { isMetadataUrl } from '../../../plugins/oauth-idp/apps/metadata-url.ts'
import { hasPrograms } from '../../kit/components.ts'
import { authorizeUrl, decide, obtainCode, pkce } from '../../kit/oauth.ts'
import { Client, startPlatform } from '../../kit/platform.ts'

const NAME = 'quill.arcade.test'
const CALLBACK = 'http://127.0.0.1:33418/callback'
const { verifier, challenge } = pkce()

/** An https server of another machine, under a name that resolves to this one. */
async function startPeer(t: Test) {
  if (!hasPrograms(t, 'openssl')) return null
  const folder = t.testdir({})
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=test', '-addext', `subjectAltName=DNS:${NAME}`]
  execFileSync('openssl', ['req', '-x509', ...curve, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const peer = {
    answer: (_request: IncomingMessage, response: ServerResponse): void => {
      response.end()
    },
    requests: 0,
  }
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    peer.requests++
    peer.answer(request, response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const lookup: LookupFunction = (_name, _options, done) => done(null, '127.0.0.1', 4)
  const source = { admits: () => true, lookup, ca: readFileSync(cert, 'utf8') }
  return { peer, source, url: `https://${NAME}:${port}/client.json` }
}

const send = (document: object) => (_request: IncomingMessage, response: ServerResponse) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(document))
}

t.test('the metadata document of a client is fetched from the public internet only', async (t) => {
  for (const address of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
    'ff02::1',
    'not an address',
  ]) {
    t.notOk(isPublic(address), address)
  }
  for (const address of ['1.1.1.1', '93.184.216.34', '2606:4700:4700::1111']) t.ok(isPublic(address), address)
  for (const url of [
    'https://127.0.0.1/c',
    'https://[::1]/c',
    'https://[::ffff:10.0.0.1]/c',
    'https://169.254.169.254/latest',
    'https://2130706433/c',
    'https://0x7f.1/c',
    'https://[::ffff:7f00:1]/c',
  ]) {
    await t.rejects(fetchMetadata(url), /not public/, url)
  }
  const lookup: LookupFunction = (_name, _options, done) => done(null, '10.0.0.7', 4)
  await t.rejects(fetchMetadata('https://quill.example/c', { lookup }), /not public/, 'a name that leads inside')
  for (const id of [
    'http://quill.example/c',
    'https://quill.example',
    'https://quill.example/',
    'https://quill.example/c#x',
    'https://2130706433/c',
    'https://0x7f.1/c',
    'https://127.1/c',
    'https://me:pw@quill.example/c',
    'https://quill.example/a/../c',
    'https://QUILL.example/c',
    'svc_client_x',
  ]) {
    t.notOk(isMetadataUrl(id), id)
  }
  t.ok(isMetadataUrl('https://quill.example/client.json'))
})

t.test('a document that is late, long, moved or no JSON is refused', async (t) => {
  const found = await startPeer(t)
  if (!found) return
  const { peer, source, url } = found
  const refused: [string, (request: IncomingMessage, response: ServerResponse) => void, RegExp][] = [
    ['moved', (_, response) => void response.writeHead(302, { location: 'https://127.0.0.1/' }).end(), /answered 302/],
    ['absent', (_, response) => void response.writeHead(404).end(), /answered 404/],
    ['a page', (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('x'), /not JSON/],
    ['long', (_, response) => send({ x: 'x'.repeat(70_000) })(_, response), /64 KiB/],
    ['a list', (_, response) => send([])(_, response), /not a JSON object/],
    ['late', () => {}, /no answer/],
    [
      'never complete',
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
      /no answer/,
    ],
  ]
  for (const [what, answer, reason] of refused) {
    peer.answer = answer
    await t.rejects(fetchMetadata(url, source), reason, what)
  }
  peer.answer = send({ client_id: url })
  await t.rejects(fetchMetadata(url, { ...source, ca: '' }), /no answer/, 'a certificate that nobody signed')
  t.match(await fetchMetadata(url, source), { client_id: url })

  const answers = ['127.0.0.1', '127.0.0.2']
  const lookup: LookupFunction = (_name, _options, done) => done(null, answers.shift() ?? '', 4)
  const first = { ...source, lookup, admits: (address: string) => address === '127.0.0.1' }
  t.match(
    await fetchMetadata(url, first),
    { client_id: url },
    'the address that was checked is the one of the connection',
  )
  t.same(answers, ['127.0.0.2'], 'the name is not asked about again')
  await t.rejects(fetchMetadata(url, first), /not public/, 'each connection is checked')
})

t.test('a client whose id is the address of its document signs in', async (t) => {
  const found = await startPeer(t)
  if (!found) return
  const { peer, source, url } = found
  const platform = await startPlatform(t, { config: { limits: { rateLimits: true, registrationsPerHour: 1 } } })
  platform.app.identity.registrations.source = source
  const isStored = async () => (await platform.app.identity.apps.find(url)) !== null
  const ada = await platform.signUp({ name: 'Ada' })
  const resource = `${platform.portal}/mcp`
  const client = { id: '', clientId: url, clientSecret: '' }
  const asked = { redirect_uri: CALLBACK, resource, scope: 'games:read', ...challenge }

  peer.answer = send({ client_id: 'https://other.example/c', client_name: 'Quill', redirect_uris: [CALLBACK] })
  const wrong = await ada.get(authorizeUrl(client, asked))
  t.match(wrong, { status: 400, text: /about another client/ })

  peer.answer = send({
    client_id: url,
    client_name: 'Quill',
    redirect_uris: [CALLBACK, 'https://quill.example/done'],
    id_token_signed_response_alg: 'RS256',
  })
  const page = await ada.get(authorizeUrl(client, asked))
  t.equal(page.status, 200)
  t.match(page.text, 'Quill')
  t.match(page.text, new RegExp(`belongs to <strong class="mono">${NAME}`))
  const elsewhere = await ada.get(authorizeUrl(client, { ...asked, redirect_uri: 'https://evil.example/' }))
  t.equal(elsewhere.status, 400, 'only the addresses of the document')
  await platform.stranger.get(authorizeUrl(client, asked))
  await decide(ada, authorizeUrl(client, asked), 'deny')
  t.notOk(await isStored(), 'only a consent stores it')
  const code = await obtainCode(ada, client, asked)
  t.match(await platform.app.identity.apps.find(url), { idTokenAlgorithm: 'RS256' })
  t.ok(await obtainCode(ada, client, asked), 'a second consent counts as no registration')
  const { status, body } = await platform.stranger.submit(
    '/api/oauth/token',
    {
      grant_type: 'authorization_code',
      client_id: url,
      code,
      redirect_uri: CALLBACK,
      code_verifier: verifier,
      resource,
    },
    { headers: { origin: undefined } },
  )
  t.equal(status, 200)
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const accept = { headers: { accept: 'application/json, text/event-stream' } }
  t.equal((await new Client(platform.app, body.access_token).post('/mcp', ping, accept)).status, 200)
  t.equal(peer.requests, 2, 'the document is kept for a minute')
  t.match((await ada.get('/settings/connected')).text, /Quill/)

  const other = url.replace('client.json', 'other.json')
  peer.answer = send({ client_id: other, redirect_uris: [CALLBACK] })
  const late = await decide(ada, authorizeUrl({ ...client, clientId: other }, asked), 'allow')
  t.equal(late.status, 429, 'the first consent for a document counts as a registration of this address')
})
