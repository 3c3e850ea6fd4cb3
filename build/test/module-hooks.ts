/** Replaces a worker's imports of tap. `--import` loads this file before the worker's first import. */
import { registerHooks } from 'node:module'

const WORKER = new URL('worker.ts', import.meta.url).href
/** A test file imports the test that represents it (worker.ts), not the root of the process. */
const OF_RUNNING_FILE = 'export default globalThis.tapOfRunningFile'
/**
 * Replaces tap's use of domains, which finds the subtest that an uncaught error belongs to. Domains follow every
 * promise and take a tenth of the CPU time; the running file is known without them.
 */
const NO_DOMAINS = 'export class Domain { constructor(onerror) { this.onerror = onerror } destroy() {} }'
const SOURCES: Record<string, string> = { 'tap-of-running-file:': OF_RUNNING_FILE, 'no-domains:': NO_DOMAINS }

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'async-hook-domain') return { url: 'no-domains:', format: 'module', shortCircuit: true }
    if (specifier !== 'tap' || context.parentURL?.includes('/node_modules/') || context.parentURL === WORKER)
      return next(specifier, context)
    return { url: 'tap-of-running-file:', format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    const source = SOURCES[url]
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
  },
})
