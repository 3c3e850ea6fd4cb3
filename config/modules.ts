import { registerHooks } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Whether a name in the configuration means a file rather than a built-in or a package. */
export const isPath = (name: string): boolean => name.startsWith('.') || isAbsolute(name)

/** Whether a name can be one of an npm package. */
export const isPackageName = (name: string): boolean => /^(@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/.test(name)

/** There is no such file or package. */
export class ModuleMissing extends Error {}

/**
 * Imports the default export of a driver or plugin that the configuration names.
 *
 * @param name a file relative to `configDir`, or a package installed beside the configuration or beside Gameyard
 * @throws ModuleMissing when there is nothing of that name
 * @throws Error with a sentence when it is there and can't be loaded
 */
export async function importDefault(name: string, configDir: string): Promise<unknown> {
  const url = isPath(name) ? pathToFileURL(resolve(configDir, name)).href : locatePackage(name, configDir)
  try {
    const module = await import(url)
    return module.default
  } catch (error) {
    const { code, url: missing, message } = error as NodeJS.ErrnoException & { url?: string }
    if (code === 'ERR_MODULE_NOT_FOUND' && missing === url) throw new ModuleMissing(`there is no file ${name}`)
    throw new Error(`${name} can't be loaded: ${message}`)
  }
}

/** Node resolves a package from the module that imports it; the configuration file takes that part here. */
function locatePackage(name: string, configDir: string): string {
  const parentURL = pathToFileURL(join(configDir, 'gameyard.yaml')).href
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier, specifier === name ? { ...context, parentURL } : context),
  })
  try {
    return import.meta.resolve(name)
  } catch {
    // Not beside the configuration: perhaps beside Gameyard.
  } finally {
    hooks.deregister()
  }
  try {
    return import.meta.resolve(name)
  } catch {
    throw new ModuleMissing(`there is no package ${name}; install it beside the configuration: npm install ${name}`)
  }
}
