import { format } from 'node:util'
import Type from 'typebox'
import { Authorities, Secret } from '../../core/config.ts'
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
      tls: Type.Optional(
        Type.Union([Type.Literal('verify'), Type.Literal('none')], {
          default: 'verify',
          description:
            'Whether the certificate of the mail server is verified. On this machine it is not, because local servers have one of their own. `none` lets anyone on the way read the mail and the password.',
        }),
      ),
      ca: Authorities('the mail server'),
    },
    { additionalProperties: false },
  ),

  check: checkOptions,

  async create(config, { log, portalUrl }): Promise<Mail> {
    checkOptions(config)
    const { url, from, tls, ca } = config
    const { hostname, username } = new URL(url)
    const isLocal = /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
    const { createTransport } = await import('nodemailer') // The import takes 60 ms, so only this driver loads it.
    const settings = {
      url,
      // Servers refuse a client that calls itself [127.0.0.1], which is the default.
      name: new URL(portalUrl).hostname,
      requireTLS: username !== '' && !isLocal,
      tls: {
        rejectUnauthorized: (ca !== undefined || !isLocal) && tls !== 'none',
        ...(ca === undefined ? {} : { ca }),
      },
      connectionTimeout: ANSWER_MS,
      greetingTimeout: ANSWER_MS,
      socketTimeout: ANSWER_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    }
    const transport = createTransport({ ...settings, pool: true, maxConnections: 2 })
    let closed = false

    return {
      async send(message) {
        assertMessage(message)
        if (closed) throw new MailUnavailable()
        const { to, subject, text } = message
        try {
          await transport.sendMail({ from, to: { name: '', address: to }, subject, text })
        } catch (error) {
          const { responseCode = 0, response, code, command, message: reason } = error as SmtpError
          const explained = explanationOf(error as SmtpError) ?? reason
          log.warn({ failure: code, command, reply: responseCode, reason: explained }, 'a message could not be sent')
          // A 5xx reply is permanent (RFC 5321 section 4.2.1). One to a greeting, a sign-in or a sender is not about this
          // message: the operator can correct it.
          const isAboutMessage = command === 'RCPT TO' || command === 'DATA' || code === 'EMESSAGE'
          if (responseCode >= 500 && isAboutMessage) throw new MailRefused(response ?? reason)
          throw new MailUnavailable({ cause: error })
        }
      },
      async verify() {
        try {
          await transport.verify()
        } catch (error) {
          const explained = explanationOf(error as SmtpError)
          throw explained === null ? error : new Error(explained, { cause: error })
        }
      },
      async converse(message) {
        assertMessage(message)
        const lines: string[] = []
        const single = createTransport({ ...settings, logger: conversationLog(lines), transactionLog: true })
        const { to, subject, text } = message
        try {
          await single.sendMail({ from, to: { name: '', address: to }, subject, text })
          return { failure: null, lines }
        } catch (error) {
          return { failure: explanationOf(error as SmtpError) ?? (error as Error).message, lines }
        } finally {
          single.close()
        }
      },
      async close() {
        closed = true
        transport.close()
      },
    }
  },
})

/** @throws StartupError for an address or a sender that is none */
function checkOptions({ url, from }: { url: string; from: string }): void {
  if (!/^smtps?:\/\/./.test(url) || !URL.canParse(url))
    throw new StartupError('mail.url is no SMTP address: write smtp://host:587 or smtps://user:password@host.')
  if (!/^[^\r\n<>]*<[^\s@<>]+@[^\s@<>]+>$|^[^\s@<>]+@[^\s@<>]+$/.test(from))
    throw new StartupError('mail.from is no sender: write yard@example.org or Name <yard@example.org>.')
}

/** Returns a log of nodemailer that keeps the lines of client and server. nodemailer hides the secrets in them. */
function conversationLog(lines: string[]) {
  const sides: Record<string, string> = { client: 'C:', server: 'S:' }
  const take = (entry: { tnx?: string }, ...texts: unknown[]) => {
    const side = sides[entry.tnx ?? '']
    if (side)
      lines.push(
        ...format(...texts)
          .trimEnd()
          .split(/\r?\n/)
          .map((line) => `${side} ${line}`),
      )
  }
  return { level: () => {}, trace: take, debug: take, info: take, warn: take, error: take, fatal: take }
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/

/** Explains a certificate that is not trusted; null for another error. */
function explanationOf({ originalCode = '', message }: SmtpError): string | null {
  if (!CERTIFICATE.test(originalCode)) return null
  return `The certificate of the mail server is not trusted (${message}). Name the server as in its certificate, name its authority with mail.ca: { file: ca.pem }, or set mail.tls: none.`
}

interface SmtpError extends Error {
  code?: string
  /** The code of an error of the socket. */
  originalCode?: string
  /** The command to which the server replied. */
  command?: string
  responseCode?: number
  response?: string
}
