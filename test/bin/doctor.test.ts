import { chmodSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { portal } from '../../bin/doctor/network.ts'
import { payments as examinePayments } from '../../bin/doctor/payments.ts'
import type { Check } from '../../clients/cli/doctor.ts'
import type { Config } from '../../core/config.ts'
import { WEBHOOK_EVENTS } from '../../drivers/payments/stripe-events.ts'
import { load } from '../config/kit.ts'
import { blenderWithoutNumpy } from '../kit/blender.ts'
import { inFull } from '../kit/extent.ts'
import { startServer } from '../kit/server.ts'
import { startSmtp } from '../kit/smtp.ts'
import { startStripe, stripeConfig } from '../kit/stripe.ts'
import { run } from './program.ts'

/** Returns the findings of `gameyard doctor` for a folder with a configuration, by name. */
async function examine(t: Test, cwd: string, config: object) {
  writeFileSync(join(cwd, 'yard.yaml'), stringify(config))
  const { code, stdout, stderr } = await run(t, ['doctor', '--config', 'yard.yaml', '--json'], { cwd })
  t.equal(stderr, '')
  const { healthy, checks } = JSON.parse(stdout) as { healthy: boolean; checks: Check[] }
  t.equal(code, healthy ? 0 : 1)
  const wrong = checks.filter(({ status }) => status !== 'ok')
  for (const { name, hint } of wrong) t.ok(hint, `a fix stands beside ${name}`)
  return { healthy, found: Object.fromEntries(checks.map(({ name, ...check }) => [name, check])) }
}

t.test('a portal is known by what it answers, and its redirect to https is an answer', async (t) => {
  const server = createServer((_request, response) => answer(response))
  let answer = (response: ServerResponse) => void response.end('It works!')
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const look = () => portal({ portal: { url: 'https://localhost:8443' }, listen: { port } } as Config)
  t.match(await look(), [{ status: 'failed', message: /not as Gameyard does/ }])
  answer = (response) => void response.writeHead(301, { location: 'https://localhost:8443/readyz' }).end()
  t.match(await look(), [{ status: 'ok', message: 'https://localhost:8443 answers' }])
  answer = (response) => void response.writeHead(301, { location: 'https://elsewhere.invalid/readyz' }).end()
  t.match(await look(), [{ status: 'failed', message: /answers with 301/ }])
  answer = (response) => void response.end('{"checks":{"database":"ok"}}')
  t.match(await look(), [{ status: 'ok', message: /is ready/ }])
})

t.test('doctor looks at a platform on its own machine, and changes nothing', async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'gameyard-doctor-'))
  t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
  await inFull(t)?.test('also before its first start', async (t) => {
    const none = await examine(t, cwd, { blender: { driver: 'none' } })
    t.match(none.found, { 'Data folder': { status: 'warning' }, Database: { message: /first start makes it/ } })
  })

  const server = await startServer(t, { folder: cwd, config: { blender: { driver: 'none' } } })
  const config = { listen: { port: server.port }, blender: { driver: 'none' } }
  const { healthy, found } = await examine(t, cwd, config)
  t.ok(healthy, JSON.stringify(found))
  t.match(found, {
    Program: { status: 'ok' },
    Configuration: { status: 'ok', message: 'yard.yaml' },
    'Data folder': { status: 'ok' },
    Database: { status: 'ok', message: 'whole' },
    Storage: { status: 'ok' },
    Bus: { status: 'ok' },
    Mail: { status: 'warning', hint: /smtp/ },
    Blender: { status: 'ok', message: 'turned off' },
    'Portal name': { status: 'ok', message: /this machine/ },
    'Game names': { status: 'ok', message: /\*\.localhost is this machine/ },
    Platform: { status: 'ok', message: /is ready/ },
    Proxy: { status: 'ok' },
  })
  await inFull(t)?.test('the findings are printed for people too', async (t) => {
    t.match(await run(t, ['doctor'], { cwd }), { code: 0, stdout: /ok +Database +whole/ })
  })

  t.test('each thing that is wrong has its finding', async (t) => {
    chmodSync(join(cwd, 'data'), 0o755)
    const { healthy, found } = await examine(t, cwd, {
      ...config,
      portal: { url: 'https://yard.invalid' },
      games: { domain: 'games.invalid' },
      trustProxy: true,
      mail: { driver: 'smtp', url: 'smtp://127.0.0.1:9', from: 'yard@example.org' },
      bus: { driver: 'redis', url: 'redis://127.0.0.1:9' },
      blender: { driver: 'subprocess', command: '/nowhere/blender' },
    })
    chmodSync(join(cwd, 'data'), 0o700)
    t.notOk(healthy)
    t.match(found, {
      Configuration: { status: 'warning', message: /trustProxy/ },
      'Data folder': { status: 'failed', hint: /^chmod 700 / },
      Bus: { status: 'failed' },
      Mail: { status: 'failed', message: /the mail server does not take us/ },
      Blender: { status: 'warning', hint: /apt install blender bubblewrap/ },
      'Portal name': { status: 'failed', hint: /^Add an A record .* yard\.invalid/ },
      'Game names': { status: 'failed', hint: /^Add an A record .* \*\.games\.invalid/ },
      Certificate: { status: 'failed' },
      Platform: { status: 'warning' },
      Proxy: { status: 'failed', hint: /trustProxy: \[127\.0\.0\.1\]/ },
    })
  })

  inFull(t)?.test('a Blender without numpy is found, and the package that has it', async (t) => {
    const command = blenderWithoutNumpy(t)
    if (!command) return
    const blender = { driver: 'subprocess', command, unsafe: true }
    writeFileSync(join(cwd, 'yard.yaml'), stringify({ ...config, blender }))
    const { stdout, stderr } = await run(t, ['doctor', '--config', 'yard.yaml', '--json'], { cwd })
    t.match(stderr, /without containment/, 'what is logged is no part of the answer')
    const { checks } = JSON.parse(stdout) as { checks: Check[] }
    const found = checks.find(({ name }) => name === 'Blender')
    t.match(found, { status: 'warning', message: /has no numpy/, hint: /^Install the package python3-numpy/ })
  })

  t.test('damage is found', async (t) => {
    await server.stop()
    const copy = join(cwd, 'copy')
    mkdirSync(join(copy, 'data'), { recursive: true, mode: 0o700 })
    writeFileSync(join(copy, 'data/gameyard.db'), readFileSync(join(cwd, 'data/gameyard.db')))
    const database = openSync(join(copy, 'data/gameyard.db'), 'r+')
    writeSync(database, Buffer.alloc(8192, 0xa5), 0, 8192, 4096 * 4)
    const { found } = await examine(t, copy, config)
    t.match(found.Database, { status: 'failed', message: /is damaged \(.+\)/, hint: /restore a backup/ })
  })
})

t.test('doctor asks the payment processor about key and webhook', async (t) => {
  const stripe = await startStripe(t)
  const endpoint = { url: 'https://yard.example.org/api/payments/webhook', status: 'enabled', enabled_events: ['*'] }
  const look = async (payments: object = {}) => {
    const config = {
      portal: { url: 'https://yard.example.org' },
      games: { domain: 'games.example.net' },
      payments: { ...stripeConfig(stripe.url), ...payments },
    }
    return examinePayments(await load(t, JSON.stringify(config)))
  }
  t.match(await look(), { status: 'warning', message: /test mode.*no webhook leads to https:\/\/yard\.example\.org/ })
  stripe.webhooks = [{ ...endpoint, url: 'https://shop.example.org/' }, endpoint]
  t.match(await look(), { status: 'ok', message: /test mode.*has all events/ })
  stripe.webhooks = [{ ...endpoint, enabled_events: WEBHOOK_EVENTS.filter((event) => !event.includes('funds')) }]
  t.match(await look(), {
    status: 'warning',
    message: /lacks charge\.dispute\.funds_withdrawn, charge\.dispute\.funds_re/,
  })
  stripe.webhooks = [{ ...endpoint, status: 'disabled' }]
  t.match(await look(), { status: 'warning', message: /turned off/ })
  stripe.mayRead = false
  t.match(await look(), { status: 'warning', hint: /restricted key/ })
  t.match(await look({ packs: [] }), { status: 'warning', message: /nothing is for sale/ })
  await t.rejects(look({ secretKey: 'sk_live_of_somebody' }), /Stripe refuses the key/)
})

t.test('doctor --mail sends a message, and shows the conversation', async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'gameyard-doctor-'))
  t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
  const { inbox, url } = await startSmtp(t)
  const mail = { driver: 'smtp', url, from: 'yard@example.org' }
  writeFileSync(join(cwd, 'gameyard.yaml'), stringify({ mail, blender: { driver: 'none' } }))
  const { stdout } = await run(t, ['doctor', '--mail', 'host@example.org'], { cwd })
  t.match(inbox, [{ to: ['host@example.org'], subject: 'A test of Gameyard' }])
  t.match(stdout, /ok {7}Mail +the mail server took a message to host@example\.org\n +[CS]: /)
  t.match(stdout, /C: EHLO /)
  t.match(stdout, /C: RCPT TO:<host@example\.org>/)
})
