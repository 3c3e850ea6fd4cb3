import { SMTPServer } from 'smtp-server'
import type { Test } from 'tap'

export interface Delivered {
  from: string
  to: string[]
  subject: string
  text: string
}

export interface SmtpOptions {
  /** The only accepted credentials; the default requires none. */
  credentials?: { user: string; password: string }
  /** Returns a recipient's refusal code (450 for temporary, 550 for permanent), or nothing. */
  refuse?: (address: string) => number | undefined
  /** Returns the refusal code of a sender, or nothing. */
  refuseSender?: (address: string) => number | undefined
  /** Offers STARTTLS with a certificate of its own, as servers of a distribution do. */
  startTls?: boolean
  /** The certificate to use instead, in PEM. */
  certificate?: { key: string; cert: string }
}

/** Starts a real SMTP server on a free port of 127.0.0.1, which stores delivered mail. It ends with the test. */
export async function startSmtp(
  t: Test,
  { credentials, refuse, refuseSender, startTls, certificate }: SmtpOptions = {},
) {
  const inbox: Delivered[] = []
  /** The notices about API tokens. The kit makes one for each program, so they are no part of `inbox`. */
  const tokenNotices: Delivered[] = []
  /** The names of the clients that sent something, and whether it was encrypted. */
  const clients: { name: string; secure: boolean }[] = []
  const server = new SMTPServer({
    authOptional: !credentials,
    allowInsecureAuth: true,
    ...certificate,
    disabledCommands: startTls ? [] : ['STARTTLS'],
    onAuth({ username, password }, _session, done) {
      if (username === credentials?.user && password === credentials?.password) return done(null, { user: username })
      done(new Error('Wrong password'))
    },
    onMailFrom({ address }, { hostNameAppearsAs, secure }, done) {
      clients.push({ name: String(hostNameAppearsAs), secure })
      const responseCode = refuseSender?.(address)
      done(responseCode ? Object.assign(new Error('Refused'), { responseCode }) : null)
    },
    onRcptTo({ address }, _session, done) {
      const responseCode = refuse?.(address)
      done(responseCode ? Object.assign(new Error('Refused'), { responseCode }) : null)
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk) => chunks.push(chunk))
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        const to = envelope.rcptTo.map(({ address }) => address)
        const mail = { from, to, ...parse(Buffer.concat(chunks).toString()) }
        const isNotice = mail.subject === 'A new API token for your account'
        ;(isNotice ? tokenNotices : inbox).push(mail)
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()))
  t.teardown(stop)
  const { port } = server.server.address() as { port: number }
  return { inbox, tokenNotices, clients, port, url: `smtp://127.0.0.1:${port}`, stop }
}

/** Returns the path of the only portal address in a message. */
export const linkIn = ({ text }: { text: string }): string => {
  const [link] = /https?:\/\/\S+/.exec(text) ?? []
  if (!link) throw new Error(`No link in: ${text}`)
  return new URL(link).pathname
}

/** Parses subject and text of a plain MIME message (RFC 2045, RFC 2047). */
function parse(raw: string): { subject: string; text: string } {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const headers = head.replace(/\r\n[ \t]+/g, ' ')
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(headers)?.[1] ?? ''
  const body = rest.join('\r\n\r\n')
  const encoding = header('Content-Transfer-Encoding')
  const bytes = encoding === 'base64' ? Buffer.from(body, 'base64') : unquote(body, encoding === 'quoted-printable')
  const subject = header('Subject')
    .replace(/\?= =\?/g, '?==?')
    .replace(/=\?utf-8\?([qb])\?(.*?)\?=/gi, (_, kind: string, word: string) =>
      (/b/i.test(kind) ? Buffer.from(word, 'base64') : unquote(word.replaceAll('_', ' '), true)).toString(),
    )
  return { subject, text: bytes.toString().replaceAll('\r\n', '\n') }
}

function unquote(text: string, quoted: boolean): Buffer {
  if (!quoted) return Buffer.from(text)
  const plain = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(plain, 'latin1')
}
