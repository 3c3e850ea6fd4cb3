import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Mail } from './interface.ts'

/** A message as the recipient received it. */
export interface ReceivedMessage {
  to: string[]
  subject: string
  text: string
}

/** The parts of a driver that the suite needs. */
export interface MailSubject {
  /** The driver's name, shown in the results. */
  name: string
  create(): Promise<Mail>
  /** Returns all messages since the beginning of the suite. */
  received(): ReceivedMessage[]
  /** Removes the resources of `create`; called once, at the end. */
  destroy?(): Promise<void>
}

/**
 * The contract of `Mail` as tests (for tap). The platform can send its mail with every driver that passes them.
 *
 *     testMailDriver({ name: 'smtp', create: () => smtp.create(config, context), received: () => inbox })
 */
export function testMailDriver({ name, create, received, destroy }: MailSubject): void {
  let used = 0
  const fresh = () => `reader${used++}@example.org`
  const arrivalOf = async (address: string) => {
    const deadline = Date.now() + 60_000
    const find = () => received().find(({ to }) => to.includes(address))
    while (!find() && Date.now() < deadline) await sleep(10)
    return find()
  }

  t.test(`mail driver ${name}`, async (t) => {
    await t.test('a message arrives whole, once, at its one reader', async (t) => {
      const mail = await create()
      t.teardown(() => mail.close())
      const to = fresh()
      const link = `https://yard.example.org/reset-password/${'aB3-_'.repeat(20)}`
      const text = `Grüße, 世界 🎮\n\n${link}\n\n.\nA line with a dot above, = and =3D.\n`
      await mail.send({ to, subject: 'Grüße aus dem Hof', text })
      t.match(await arrivalOf(to), { to: [to], subject: 'Grüße aus dem Hof', text })
      t.equal(received().filter((message) => message.to.includes(to)).length, 1)
    })

    await t.test('twenty messages at once all arrive', async (t) => {
      const mail = await create()
      t.teardown(() => mail.close())
      const readers = Array.from({ length: 20 }, fresh)
      await Promise.all(readers.map((to) => mail.send({ to, subject: `For ${to}`, text: to })))
      for (const to of readers) t.match(await arrivalOf(to), { to: [to], subject: `For ${to}`, text: to })
    })

    await t.test('nothing in a message adds a reader or a header', async (t) => {
      const mail = await create()
      t.teardown(() => mail.close())
      const before = received().length
      const refused = { code: /^mail_refused$/i }
      const good = { to: fresh(), subject: 'Hello', text: 'Hello' }
      const addresses = ['a@example.org, b@example.org', 'a@example.org\r\nBcc: b@example.org', 'A <a@example.org>']
      for (const to of [...addresses, 'nobody', '', 'a@b@example.org', '"a b"@example.org'])
        await t.rejects(mail.send({ ...good, to }), refused, JSON.stringify(to))
      for (const subject of ['Hello\r\nBcc: b@example.org', 'Hello\nthere', '', 'x'.repeat(201)])
        await t.rejects(mail.send({ ...good, subject }), refused, JSON.stringify(subject.slice(0, 20)))
      const last = fresh()
      await mail.send({ ...good, to: last })
      t.match(await arrivalOf(last), { to: [last] })
      t.equal(received().length, before + 1, 'what is sent afterwards arrives, and nothing else')
    })

    await t.test('after close nothing is sent; closing again is no error', async (t) => {
      const mail = await create()
      await mail.close()
      await t.resolves(mail.close())
      await t.rejects(mail.send({ to: fresh(), subject: 'Late', text: 'Late' }), { code: /^mail_unavailable$/i })
    })

    await destroy?.()
  })
}
