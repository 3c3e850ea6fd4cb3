import { registerHooks } from 'node:module'

/** Loads the modules that plugins and drivers outside of the program may import, by the name in the import. */
export type ProgramModules = () => Promise<Readonly<Record<string, object>>>

const SCHEME = 'gameyard-module:'
const KEY = Symbol.for('gameyard.modules')
let provided: Promise<void> | undefined

/**
 * Lets files outside of the program import its own modules, so that they need no packages beside them, and share classes
 * and state with the program.
 */
export function provideModules(load: ProgramModules): Promise<void> {
  provided ??= load().then(register)
  return provided
}

function register(modules: Readonly<Record<string, object>>): void {
  Object.assign(globalThis, { [KEY]: modules })
  registerHooks({
    resolve: (specifier, context, next) =>
      Object.hasOwn(modules, specifier)
        ? { url: SCHEME + specifier, format: 'module', shortCircuit: true }
        : next(specifier, context),
    load(url, context, next) {
      if (!url.startsWith(SCHEME)) return next(url, context)
      const name = url.slice(SCHEME.length)
      return { format: 'module', source: sourceOf(name, modules[name] as object), shortCircuit: true }
    },
  })
}

/** Returns an ES module with the exports of a module that is loaded already. */
function sourceOf(name: string, module: object): string {
  const names = Object.keys(module)
  // Exported names are written as strings, since a module may export names such as `Object` and `Symbol`.
  const constants = names.map((each, index) => `const e${index} = own[${JSON.stringify(each)}]`)
  const exports = names.map((each, index) => `e${index} as ${JSON.stringify(each)}`)
  return [
    `const own = globalThis[Symbol.for(${JSON.stringify(KEY.description)})][${JSON.stringify(name)}]`,
    ...constants,
    `export { ${exports.join(', ')} }`,
  ].join('\n')
}
