import Type from 'typebox'
import Value from 'typebox/value'
import { parse } from 'yaml'
import type { AnyDriver, DriverFamily } from '../core/driver.ts'
import type { Plugin } from '../core/plugin.ts'
import { variableFor } from './environment.ts'
import type { Findings } from './findings.ts'
import { didYouMean } from './hints.ts'
import { importDefault, isPackageName, isPath, ModuleMissing } from './modules.ts'
import { keyOf } from './problems.ts'
import type { ProgramModules } from './program-modules.ts'
import { isMapping } from './validate.ts'

// The schema depends on the configured drivers and plugins, so these are read before validation.

interface BaseUrlSources {
  values: Record<string, unknown>
  env: Record<string, string | undefined>
  configDir: string
  findings: Findings
  /** What added plugins and drivers may import of the program. */
  modules: ProgramModules | undefined
}

/**
 * A driver family and its configured driver. The driver is null when it could not be loaded; the error has been
 * reported.
 */
export interface DriverChoice {
  family: DriverFamily
  driver: AnyDriver | null
}

/** A built-in or added plugin, and whether the configuration enables it. */
export interface PluginChoice {
  plugin: Plugin
  enabled: boolean
}

/** Imports only the configured driver of each family. */
export async function chooseDrivers(families: DriverFamily[], around: BaseUrlSources): Promise<DriverChoice[]> {
  return Promise.all(families.map(async (family) => ({ family, driver: await chooseDriver(family, around) })))
}

async function chooseDriver(
  family: DriverFamily,
  { values, env, configDir, findings, modules }: BaseUrlSources,
): Promise<AnyDriver | null> {
  const path = [family.name, 'driver']
  const variable = variableFor(path)
  if (env[variable] !== undefined) findings.comesFrom(variable, path)
  const section = values[family.name]
  const name = env[variable] ?? (isMapping(section) ? section.driver : undefined) ?? family.default
  if (typeof name !== 'string') return null // validation reports it
  const complain = (sentence: string) => findings.error(path, `${keyOf(path)}: ${sentence}`)
  try {
    const builtin = Object.hasOwn(family.builtins, name) ? family.builtins[name] : undefined
    const driver = builtin ? (await builtin()).default : await importDefault(name, configDir, modules)
    if (!Value.Check(DriverShape, driver)) complain(`${name} does not default-export what defineDriver(…) returns`)
    else if (driver.family !== family.name) complain(`${name} is a driver for ${driver.family}, not for ${family.name}`)
    else return driver as AnyDriver
  } catch (error) {
    if (!(error instanceof ModuleMissing)) complain((error as Error).message)
    else if (isPath(name)) complain(error.message)
    else complain(unknownDriver(name, Object.keys(family.builtins)))
  }
  return null
}

const unknownDriver = (name: string, builtins: string[]): string =>
  `\`${name}\` is neither built in (${builtins.join(', ')}) nor an installed package${didYouMean(name, builtins)}`

/**
 * Determines which plugins run: the enabled built-in plugins, and those that a key under `plugins` adds by the name of
 * a package or a file.
 */
export async function choosePlugins(builtins: Plugin[], around: BaseUrlSources): Promise<PluginChoice[]> {
  const { values, env } = around
  const settings = isMapping(values.plugins) ? values.plugins : {}
  const choices = builtins.map((plugin) => {
    const text = env[variableFor(['plugins', plugin.name])]
    const setting = text === undefined ? settings[plugin.name] : parse(text, { logLevel: 'error' })
    return { plugin, enabled: setting !== false }
  })
  for (const [name, setting] of Object.entries(settings)) {
    if (builtins.some((plugin) => plugin.name === name)) continue
    const plugin = await addPlugin(name, choices, around)
    delete settings[name]
    if (!plugin) continue
    settings[plugin.name] = setting
    around.findings.standsAt(['plugins', plugin.name], ['plugins', name])
    choices.push({ plugin, enabled: setting !== false })
  }
  return choices
}

async function addPlugin(
  name: string,
  known: PluginChoice[],
  { configDir, findings, modules }: BaseUrlSources,
): Promise<Plugin | null> {
  const path = ['plugins', name]
  const complain = (sentence: string) => findings.error(path, `${keyOf(path)}: ${sentence}`, 'key')
  const names = known.map(({ plugin }) => plugin.name)
  const unknown = `there is no built-in plugin and no installed package of this name${didYouMean(name, names)}`
  try {
    if (!isPath(name) && !isPackageName(name)) complain(unknown)
    else {
      const plugin = await importDefault(name, configDir, modules)
      if (!Value.Check(PluginShape, plugin)) complain('does not default-export what definePlugin(…) returns')
      else if (names.includes(plugin.name)) complain(`there is another plugin called ${plugin.name}`)
      else return plugin as unknown as Plugin
    }
  } catch (error) {
    complain(error instanceof ModuleMissing && !isPath(name) ? unknown : (error as Error).message)
  }
  return null
}

const Mapping = Type.Object({})
const DriverShape = Type.Object({ family: Type.String(), name: Type.String(), config: Mapping, create: Type.Any() })
const PluginShape = Type.Object({
  name: Type.String(),
  section: Type.String(),
  config: Mapping,
  sections: Mapping,
  limits: Mapping,
  register: Type.Any(),
})
