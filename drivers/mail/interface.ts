import { defineError } from '../../core/errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    mail: Mail
  }
}

/** A message to one person. */
export interface Message {
  /** One address, `name@host`, without a display name. */
  to: string
  /** One line. */
  subject: string
  /** Plain text; lines end with `\n`. */
  text: string
}

/**
 * How the platform writes to people: links that confirm an address or set a new password. Rare and small; the caller
 * retries.
 *
 * Nothing in a message can add a recipient or a header: an address that is not exactly one, or a subject of more than
 * one line, is refused.
 */
export interface Mail {
  /**
   * Resolves once the message is in the hands of the next server.
   *
   * @throws MailRefused when trying again would not help: the address or the message is not taken
   * @throws MailUnavailable when it may: the server is away or busy, or this was closed
   */
  send(message: Message): Promise<void>
  /**
   * Connects and signs in without sending anything; absent where there is nothing to connect to.
   * @throws Error that says what is wrong, to the host
   */
  verify?(): Promise<void>
  close(): Promise<void>
}

export const MailRefused = defineError('mail_refused', 502, 'The message was refused: %s')
export const MailUnavailable = defineError('mail_unavailable', 503, 'The mail server does not answer.')

/** Checks a message before it is sent. @throws MailRefused */
export function assertMessage({ to, subject }: Message): void {
  if (to.length > 254 || !/^[^\s@"(),:;<>[\]\\\p{C}]+@[^\s@"(),:;<>[\]\\\p{C}]+$/u.test(to))
    throw new MailRefused('this is not one address.')
  if (subject === '' || subject.length > 200 || /[\p{Cc}\u2028\u2029]/u.test(subject))
    throw new MailRefused('the subject is not one line.')
}
