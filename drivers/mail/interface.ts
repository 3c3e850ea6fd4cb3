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
 * Sends mail to players: links that confirm an address or set a new password. Mail is rare and small; the caller
 * retries.
 *
 * No part of a message can add a recipient or a header: `send` refuses anything but exactly one address, and a subject
 * of more than one line.
 */
export interface Mail {
  /**
   * Resolves once the next server has accepted the message.
   *
   * @throws MailRefused when a retry would not help: the server rejects the address or the message
   * @throws MailUnavailable when a retry may help: the server is unavailable or busy, or this instance is closed
   */
  send(message: Message): Promise<void>
  /**
   * Connects and signs in without sending a message; absent for a driver without a server.
   *
   * @throws Error that tells the operator what is wrong
   */
  verify?(): Promise<void>
  /**
   * Sends a message, and returns what was said to and by the server, without passwords; absent for a driver without a
   * server. It does not reject.
   *
   * @returns `failure`: what is wrong, for the operator, or null; `lines`: each begins with `C:` or `S:`
   */
  converse?(message: Message): Promise<{ failure: string | null; lines: string[] }>
  close(): Promise<void>
}

export const MailRefused = defineError('mail_refused', 502, 'The message was refused: %s')
export const MailUnavailable = defineError('mail_unavailable', 503, 'The mail server does not answer.')

/** Validates a message before it is sent. @throws MailRefused */
export function assertMessage({ to, subject }: Message): void {
  if (to.length > 254 || !/^[^\s@"(),:;<>[\]\\\p{C}]+@[^\s@"(),:;<>[\]\\\p{C}]+$/u.test(to))
    throw new MailRefused('this is not one address.')
  if (subject === '' || subject.length > 200 || /[\p{Cc}\u2028\u2029]/u.test(subject))
    throw new MailRefused('the subject is not one line.')
}
