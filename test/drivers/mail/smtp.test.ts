import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { testMailDriver } from '../../../drivers/mail/conformance.ts'
import smtp from '../../../drivers/mail/smtp.ts'
import { captureLog, driverContext } from '../../kit/driver-context.ts'
import { startSmtp } from '../../kit/smtp.ts'

const from = 'Gameyard <yard@example.org>'
const server = await startSmtp(t)

testMailDriver({
  name: 'smtp',
  create: () => smtp.create({ url: server.url, from }, driverContext()),
  received: () => server.inbox,
})

const hello = { to: 'ada@example.org', subject: 'Hello', text: 'Hello' }

t.test('the sender is the configured one', async (t) => {
  const { inbox, url } = await startSmtp(t)
  const mail = await smtp.create({ url, from }, driverContext())
  t.teardown(() => mail.close())
  await mail.send(hello)
  t.match(inbox, [{ from: 'yard@example.org', to: ['ada@example.org'] }])
})

t.test('a refusal for good is told from one for now', async (t) => {
  const { url } = await startSmtp(t, { refuse: (address) => (address.startsWith('gone') ? 550 : 450) })
  const mail = await smtp.create({ url, from }, driverContext())
  t.teardown(() => mail.close())
  await t.rejects(mail.send({ ...hello, to: 'gone@example.org' }), { code: /^mail_refused$/i })
  await t.rejects(mail.send(hello), { code: /^mail_unavailable$/i })
})

t.test('what is not about the message is tried again, and the log says what was answered', async (t) => {
  const greeting = createServer((socket) => {
    socket.write('220 mail.example.org\r\n')
    socket.on('data', () => socket.write('550 5.7.1 Invalid name\r\n'))
    socket.on('error', () => {})
  })
  greeting.listen(0, '127.0.0.1')
  await once(greeting, 'listening')
  t.teardown(() => greeting.close())
  const { port } = greeting.address() as { port: number }
  const { url } = await startSmtp(t, { refuseSender: () => 553 })
  for (const [address, command, reply] of [
    [`smtp://127.0.0.1:${port}`, 'HELO', 550],
    [url, 'MAIL FROM', 553],
  ] as const) {
    const { log, lines } = captureLog()
    const mail = await smtp.create({ url: address, from }, driverContext({ log }))
    t.teardown(() => mail.close())
    await t.rejects(mail.send(hello), { code: /^mail_unavailable$/i }, command)
    t.match(lines(), [{ failure: /^E[A-Z]+$/, command, reply }])
  }
})

t.test('it names itself after the portal, and takes the certificate of a server on this machine', async (t) => {
  const { inbox, clients, url, port } = await startSmtp(t, { startTls: true })
  const context = driverContext({ portalUrl: 'https://yard.example.org' })
  const mail = await smtp.create({ url, from }, context)
  t.teardown(() => mail.close())
  await mail.send(hello)
  t.same(clients, [{ name: 'yard.example.org', secure: true }])
  // This address leads to the same server, and is not taken for this machine.
  const elsewhere = `smtp://0.0.0.0:${port}`
  const { log, lines } = captureLog()
  const verifying = await smtp.create({ url: elsewhere, from }, driverContext({ log }))
  t.teardown(() => verifying.close())
  await t.rejects(verifying.send(hello), { code: /^mail_unavailable$/i })
  t.match(lines(), [{ reason: /The certificate of the mail server is not trusted .*mail\.tls: none/ }])
  await t.rejects(async () => verifying.verify?.(), { message: /The certificate of the mail server is not trusted/ })
  t.equal(inbox.length, 1)
  const trusting = await smtp.create({ url: elsewhere, from, tls: 'none' }, context)
  t.teardown(() => trusting.close())
  await trusting.send(hello)
  t.equal(inbox.length, 2)
})

t.test('a conversation with the server is shown without the password', async (t) => {
  const credentials = { user: 'yard', password: 'secret-of-yard' }
  const { inbox, url } = await startSmtp(t, {
    credentials,
    refuse: (to) => (to.startsWith('nobody') ? 550 : undefined),
  })
  const address = url.replace('//', '//yard:secret-of-yard@')
  const mail = await smtp.create({ url: address, from }, driverContext({ portalUrl: 'https://yard.example.org' }))
  t.teardown(() => mail.close())
  const sent = await mail.converse?.(hello)
  t.equal(sent?.failure, null)
  t.equal(inbox.length, 1)
  const refused = await mail.converse?.({ ...hello, to: 'nobody@example.org' })
  t.match(refused, { failure: /550/ })
  for (const lines of [sent?.lines ?? [], refused?.lines ?? []]) {
    for (const line of [/^C: EHLO yard\.example\.org$/, /^S: 250/, /^C: RCPT TO:/])
      t.ok(lines.some((one) => line.test(one)))
    t.notMatch(lines.join('\n'), /secret-of-yard|c2VjcmV0LW9m|AHlhcmQAc2Vjc/)
  }
  t.match(refused?.lines.join('\n'), /^S: 550/m)
})

t.test('a server that is away is said to be', async (t) => {
  const server = await startSmtp(t)
  await server.stop()
  const mail = await smtp.create({ url: server.url, from }, driverContext())
  t.teardown(() => mail.close())
  await t.rejects(mail.send(hello), { code: /^mail_unavailable$/i })
})

t.test('it signs in to the server; a wrong password is for the one who runs it, and in no log', async (t) => {
  const credentials = { user: 'yard', password: 'sesame-4711' }
  const server = await startSmtp(t, { credentials })
  const right = await smtp.create({ url: `smtp://yard:sesame-4711@127.0.0.1:${server.port}`, from }, driverContext())
  t.teardown(() => right.close())
  await right.send(hello)
  t.equal(server.inbox.length, 1)
  const { log, lines } = captureLog()
  const wrong = await smtp.create(
    { url: `smtp://yard:sesame-0815@127.0.0.1:${server.port}`, from },
    driverContext({ log }),
  )
  t.teardown(() => wrong.close())
  await t.rejects(wrong.send(hello), { code: /^mail_unavailable$/i })
  t.equal(lines().length, 1)
  t.notMatch(JSON.stringify(lines()), /sesame/)
})

t.test('the start says what is wrong with the configuration', async (t) => {
  const create = (url: string, sender = from) => smtp.create({ url, from: sender }, driverContext())
  await t.rejects(create('https://example.org'), { message: /mail\.url is no SMTP address/ })
  await t.rejects(create('smtp://127.0.0.1', 'Gameyard'), { message: /mail\.from is no sender/ })
  await t.rejects(create('smtp://127.0.0.1', 'a@example.org\r\nBcc: b@example.org'), { message: /no sender/ })
})
