import Type from 'typebox'
import { Secret } from '../../core/config.ts'
import { defineDriver } from '../../core/driver.ts'
import { StartupError } from '../../core/errors.ts'
import { assertMessage, type Mail, MailRefused, MailUnavailable } from './interface.ts'

/** Timeout of each step of the SMTP conversation. */
const ANSWER_MS = 15_000

/**
 * Sends by SMTP. A password is sent only over an encrypted connection: TLS from the start (`smtps:`), or STARTTLS,
 * which `smtp:` requires unless the server is this machine.
 */
export default defineDriver({
  family: 'mail',
  name: 'smtp',
  config: Type.Object(
    {
      url: Secret({ description: 'Address of the mail server: smtp[s]://[user:password@]host[:port].' }),
      from: Type.String({
        description: 'Sender of every message: an address, or `Name <address>`.',
        examples: ['Gameyard <yard@example.org>'],
      }),
    },
    { additionalProperties: false },
  ),

  async create({ url, from }, { log }): Promise<Mail> {
    if (!/^smtps?:\/\/./.test(url) || !URL.canParse(url))
      throw new StartupError('mail.url is no SMTP address: write smtp://host:587 or smtps://user:password@host.')
    if (!/^[^\r\n<>]*<[^\s@<>]+@[^\s@<>]+>$|^[^\s@<>]+@[^\s@<>]+$/.test(from))
      throw new StartupError('mail.from is no sender: write yard@example.org or Name <yard@example.org>.')
    const { hostname, username } = new URL(url)
    const { createTransport } = await import('nodemailer') // The import takes 60 ms, so only this driver loads it.
    const transport = createTransport({
      url,
      pool: true,
      maxConnections: 2,
      requireTLS: username !== '' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname),
      connectionTimeout: ANSWER_MS,
      greetingTimeout: ANSWER_MS,
      socketTimeout: ANSWER_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    let closed = false

    return {
      async send(message) {
        assertMessage(message)
        if (closed) throw new MailUnavailable()
        const { to, subject, text } = message
        try {
          await transport.sendMail({ from, to: { name: '', address: to }, subject, text })
        } catch (error) {
          const { responseCode = 0, response, code, message: reason } = error as SmtpError
          log.warn({ code, responseCode, reason }, 'the mail server refused a message')
          // A 5xx reply is permanent (RFC 5321 section 4.2.1), except for a rejected password, which the operator can
          // correct.
          if (responseCode >= 500 && code !== 'EAUTH') throw new MailRefused(response ?? reason)
          throw new MailUnavailable({ cause: error })
        }
      },
      async verify() {
        await transport.verify()
      },
      async close() {
        closed = true
        transport.close()
      },
    }
  },
})

interface SmtpError extends Error {
  code?: string
  responseCode?: number
  response?: string
}
