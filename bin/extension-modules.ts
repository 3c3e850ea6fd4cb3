import * as typebox from 'typebox'
import * as driver from '../core/driver.ts'
import * as errors from '../core/errors.ts'
import * as events from '../core/events.ts'
import * as auth from '../core/http/auth.ts'
import * as routes from '../core/http/routes.ts'
import * as ids from '../core/ids.ts'
import * as kernel from '../core/kernel.ts'
import * as pages from '../core/pages/index.ts'
import * as plugin from '../core/plugin.ts'
import * as tables from '../core/tables.ts'
import * as ai from '../drivers/ai/interface.ts'
import * as blender from '../drivers/blender/interface.ts'
import * as bus from '../drivers/bus/interface.ts'
import * as database from '../drivers/database/interface.ts'
import * as mail from '../drivers/mail/interface.ts'
import * as payments from '../drivers/payments/interface.ts'
import * as storage from '../drivers/storage/interface.ts'
import * as plugins from '../plugins/index.ts'

/**
 * What plugins and drivers that the configuration names may import: the server's part of `exports` in package.json, and
 * TypeBox. The suites for drivers are not among them, since they need the test runner.
 */
export const EXTENSION_MODULES: Readonly<Record<string, object>> = {
  'gameyard/auth': auth,
  'gameyard/driver': driver,
  'gameyard/drivers/ai': ai,
  'gameyard/drivers/blender': blender,
  'gameyard/drivers/bus': bus,
  'gameyard/drivers/database': database,
  'gameyard/drivers/mail': mail,
  'gameyard/drivers/payments': payments,
  'gameyard/drivers/storage': storage,
  'gameyard/errors': errors,
  'gameyard/events': events,
  'gameyard/ids': ids,
  'gameyard/kernel': kernel,
  'gameyard/pages': pages,
  'gameyard/plugin': plugin,
  'gameyard/plugins': plugins,
  'gameyard/routes': routes,
  'gameyard/tables': tables,
  typebox,
}
