// RFC 9110 section 10.2.3: an error that passes by itself says when to try again.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isPlatformError, type PlatformError } from '../../core/errors.ts'

const ROOT = join(import.meta.dirname, '../..')
/** What stays until somebody sets it up or repairs it, and the mail that nobody waits for. */
const LASTS = /^(.*_not_configured|blender_incomplete|blender_unavailable|payments_unavailable|mail_unavailable)$/

/** Whether a value is a class that `defineError` made, or one below it that needs nothing to be made. */
const isCatalogued = (value: unknown): boolean =>
  typeof value === 'function' &&
  value.length === 0 &&
  (value.name === 'CataloguedError' || isCatalogued(Object.getPrototypeOf(value)))

t.test('a 503 that passes by itself has Retry-After', async (t) => {
  const files = globSync(['{core,drivers,plugins}/**/{errors,interface}.ts'], { cwd: ROOT })
  const found = new Map<string, PlatformError>()
  for (const file of files) {
    for (const exported of Object.values(await import(join(ROOT, file)))) {
      if (!isCatalogued(exported)) continue
      const error = new (exported as new (...words: string[]) => unknown)('one', 'two', 'three')
      if (isPlatformError(error) && error.statusCode === 503) found.set(error.code, error)
    }
  }
  for (const code of ['database_unavailable', 'database_busy', 'bus_unavailable', 'storage_unavailable', 'room_failed'])
    t.ok(found.has(code), code)
  for (const [code, { headers }] of found) if (!LASTS.test(code)) t.match(headers?.['retry-after'], /^\d+$/, code)
})
