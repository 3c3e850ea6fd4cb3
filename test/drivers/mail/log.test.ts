import type { ReceivedMessage } from '../../../drivers/mail/conformance.ts'
import { testMailDriver } from '../../../drivers/mail/conformance.ts'
import log from '../../../drivers/mail/log.ts'
import { captureLog, driverContext } from '../../kit/driver-context.ts'

const captured = captureLog()

testMailDriver({
  name: 'log',
  create: () => log.create({}, driverContext({ log: captured.log })),
  received: () =>
    captured
      .lines()
      .filter(({ subject }) => subject !== undefined)
      .map(({ to, subject, text }) => ({ to: [to], subject, text }) as ReceivedMessage),
})
