import Type from 'typebox'
import { defineDriver } from '../../core/driver.ts'
import { assertMessage, type Mail, MailUnavailable } from './interface.ts'

/**
 * Writes messages to the log instead of sending them, and the operator passes the links on. It suits a LAN, or a server
 * without mail. Everyone who can read the log can use the links in it.
 */
export default defineDriver({
  family: 'mail',
  name: 'log',
  config: Type.Object({}, { additionalProperties: false }),

  async create(_config, { log }): Promise<Mail> {
    let closed = false
    return {
      async send(message) {
        assertMessage(message)
        if (closed) throw new MailUnavailable()
        const { to, subject, text } = message
        log.info({ to, subject, text }, 'message not sent, because mail.driver is log')
      },
      async close() {
        closed = true
      },
    }
  },
})
