import type { Check } from '../../clients/cli/doctor.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { Payments } from '../../drivers/payments/interface.ts'
import { openDriver } from '../open-driver.ts'

const NAME = 'Payments'
const GUIDE = 'See /docs/selling-credits'

/** Checks the key of the payment processor, and that its webhook leads to the portal with all events. */
export async function payments(loaded: LoadedConfig): Promise<Check> {
  const { driver } = loaded.config.payments as { driver: string }
  if (driver === 'none') return { name: NAME, status: 'ok', message: 'turned off' }
  const instance = await openDriver<Payments>(loaded, 'payments', loaded.config.dataDir)
  const warning = (message: string, hint: string): Check => ({ name: NAME, status: 'warning', message, hint })
  try {
    if (instance.packs.length === 0) return warning('nothing is for sale', 'Add payments.packs.')
    const address = `${loaded.config.portal.url}/api/payments/webhook`
    const account = await instance.examine?.(address)
    if (!account) return { name: NAME, status: 'ok', message: `${instance.packs.length} packs by ${driver}` }
    const { testMode, webhook } = account
    const mode = testMode ? 'test mode, in which nobody pays' : 'live mode'
    if (webhook === 'unknown')
      return warning(
        `${mode}; the key may not read the webhooks`,
        `Give the restricted key read access to Webhook Endpoints, or compare the events by hand. ${GUIDE}.`,
      )
    if (webhook === null) {
      const hint = `Add it at the payment processor, with its events. For a test, forward events. ${GUIDE}.`
      return warning(`${mode}; no webhook leads to ${address}`, hint)
    }
    if (!webhook.enabled)
      return warning(
        `${mode}; the webhook is turned off`,
        'Turn it on at the payment processor, and send what it missed.',
      )
    if (webhook.missing.length > 0)
      return warning(`${mode}; the webhook lacks ${webhook.missing.join(', ')}`, `Add these events. ${GUIDE}#events.`)
    return { name: NAME, status: 'ok', message: `${mode}; the webhook has all events` }
  } finally {
    await instance.close()
  }
}
