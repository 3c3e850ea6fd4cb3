import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { constants, Script } from 'node:vm'
import { describeThrown } from '../core/boot/extension-errors.ts'
import type { ExtensionModule } from '../core/plugin.ts'
import { type ProgramModules, provideModules } from './program-modules.ts'

/** Whether a name in the configuration is a file path rather than a built-in or a package. */
export const isPath = (name: string): boolean => name.startsWith('.') || isAbsolute(name)

/** Whether a name is a valid npm package name. */
export const isPackageName = (name: string): boolean => /^(@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/.test(name)

/** Identifies the module that a name in the configuration refers to. */
export const moduleOf = (name: string, configDir: string): ExtensionModule => ({
  name,
  file: isPath(name) ? resolve(configDir, name) : null,
})

/** The file or package does not exist. */
export class ModuleMissing extends Error {}

/**
 * Imports the default export of a driver or plugin that the configuration names.
 *
 * @param name a file relative to `configDir`, or a package installed beside the configuration or beside Gameyard
 * @param modules what it may import of the program
 * @throws ModuleMissing when no such file or package exists
 * @throws Error with a sentence when the module exists and can't be loaded, with the place in it
 */
export async function importDefault(name: string, configDir: string, modules?: ProgramModules): Promise<unknown> {
  if (modules) await provideModules(modules)
  const module = moduleOf(name, configDir)
  const { file } = module
  if (file !== null) return load(file, pathToFileURL(file).href, module, `there is no file ${name}`)
  const missing = `there is no package ${name}; install it beside the configuration: npm install ${name}`
  return load(join(configDir, 'gameyard.yaml'), name, module, '').catch((error) => {
    if (!(error instanceof ModuleMissing)) throw error
    return load(import.meta.filename ?? process.execPath, name, module, missing)
  })
}

/** @param from the file from which Node resolves a package name */
async function load(from: string, specifier: string, module: ExtensionModule, missing: string): Promise<unknown> {
  const { name } = module
  try {
    const { default: exported } = (await importFrom(from)(specifier)) as { default?: unknown }
    return exported
  } catch (error) {
    const { code, url, message } = Object(error) as Partial<NodeJS.ErrnoException> & { url?: string }
    // The error may name an import of the module instead of the module itself.
    const itself = url ? url === specifier : message?.startsWith(`Cannot find package '${name}'`)
    if (code === 'ERR_MODULE_NOT_FOUND' && itself) throw new ModuleMissing(missing)
    throw new Error(`${name} can't be loaded: ${describeThrown(error, module)}`)
  }
}

/** Returns an `import()` that resolves names from `filename`. The single binary's own `import()` reads no files. */
function importFrom(filename: string): (specifier: string) => Promise<unknown> {
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
  const script = new Script('(specifier) => import(specifier)', { filename, importModuleDynamically })
  return async (specifier) => {
    const { emitWarning } = process
    // Node warns that this loader is experimental, which does not concern the operator.
    process.emitWarning = ((warning: string | Error, ...rest: []) =>
      String(warning).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER')
        ? undefined
        : emitWarning.call(process, warning, ...rest)) as typeof emitWarning
    try {
      return await script.runInThisContext()(specifier)
    } finally {
      process.emitWarning = emitWarning
    }
  }
}
