// Runs the suite of a driver that is outside of this repository: `npm run driver-suite -- FILE`. The file imports
// `gameyard/…`, `typebox` and `tap` as if they were installed beside it.
import { registerHooks } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '..')
const inside = pathToFileURL(join(root, 'package.json')).href

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, /^(?:gameyard\/|typebox$|tap$)/.test(specifier) ? { ...context, parentURL: inside } : context),
})

const [file] = process.argv.slice(2)
if (!file) {
  console.error('Usage: npm run driver-suite -- FILE')
  process.exit(2)
}
// npm changes the working directory to that of this package.
await import(pathToFileURL(resolve(process.env.INIT_CWD ?? process.cwd(), file)).href)
