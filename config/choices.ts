import { parse } from 'yaml'
import type { AnyDriver, DriverFamily } from '../core/driver.ts'
import type { ExtensionModule, Plugin } from '../core/plugin.ts'
import { variableFor } from './environment.ts'
import type { Findings } from './findings.ts'
import { didYouMean } from './hints.ts'
import { driverFaults, isDefined, isDriver, manifestFaults } from './manifest.ts'
import { importDefault, isPackageName, isPath, ModuleMissing, moduleOf } from './modules.ts'
import { keyOf } from './problems.ts'
import type { ProgramModules } from './program-modules.ts'
import { isMapping } from './validate.ts'

// The schema depends on the configured drivers and plugins, so these are read before validation.

/** What the choice of drivers and plugins depends on. */
interface ChoiceContext {
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
  /** Where a driver that is not built in is from. */
  module?: ExtensionModule
}

/** A built-in or added plugin, and whether the configuration enables it. */
export interface PluginChoice {
  plugin: Plugin
  enabled: boolean
}

/** Imports only the configured driver of each family. */
export async function chooseDrivers(families: DriverFamily[], around: ChoiceContext): Promise<DriverChoice[]> {
  return Promise.all(families.map(async (family) => ({ family, ...(await chooseDriver(family, around)) })))
}

async function chooseDriver(
  family: DriverFamily,
  { values, env, configDir, findings, modules }: ChoiceContext,
): Promise<Omit<DriverChoice, 'family'>> {
  const none = { driver: null }
  const path = [family.name, 'driver']
  const variable = variableFor(path)
  if (env[variable] !== undefined) findings.comesFrom(variable, path)
  const section = values[family.name]
  const name = env[variable] ?? (isMapping(section) ? section.driver : undefined) ?? family.default
  if (typeof name !== 'string') return none // validation reports it
  const complain = (sentence: string) => findings.error(path, `${keyOf(path)}: ${sentence}`)
  try {
    const builtin = Object.hasOwn(family.builtins, name) ? family.builtins[name] : undefined
    const driver = builtin ? (await builtin()).default : await importDefault(name, configDir, modules)
    if (!isDriver(driver)) complain(`${name} does not default-export what defineDriver(…) returns`)
    else if (driver.family !== (family.driversOf ?? family.name))
      complain(`${name} is a driver for ${driver.family}, not for ${family.driversOf ?? family.name}`)
    else {
      const faults = driverFaults(driver)
      for (const fault of faults) complain(`${name}: ${fault}`)
      if (faults.length === 0) return builtin ? { driver } : { driver, module: moduleOf(name, configDir) }
    }
  } catch (error) {
    if (!(error instanceof ModuleMissing)) complain((error as Error).message)
    else if (isPath(name)) complain(error.message)
    else complain(unknownDriver(name, Object.keys(family.builtins)))
  }
  return none
}

const unknownDriver = (name: string, builtins: string[]): string =>
  `\`${name}\` is neither built in (${builtins.join(', ')}) nor an installed package${didYouMean(name, builtins)}`

/**
 * Determines which plugins run: the enabled built-in plugins, and those that a key under `plugins` adds by the name of
 * a package or a file.
 *
 * @param families the names of the driver families
 */
export async function choosePlugins(
  builtins: Plugin[],
  families: readonly string[],
  around: ChoiceContext,
): Promise<PluginChoice[]> {
  const { values, findings } = around
  const settings = isMapping(values.plugins) ? values.plugins : {}
  const isEnabled = (name: string, setting: unknown) => {
    const text = around.env[variableFor(['plugins', name])]
    return (text === undefined ? setting : parse(text, { logLevel: 'error' })) !== false
  }
  const choices = builtins.map((plugin) => ({ plugin, enabled: isEnabled(plugin.name, settings[plugin.name]) }))
  for (const { plugin } of choices)
    for (const fault of manifestFaults(plugin, []))
      findings.error(['plugins', plugin.name], `plugins.${plugin.name}: ${fault}`)
  for (const [name, setting] of Object.entries(settings)) {
    if (builtins.some((plugin) => plugin.name === name)) continue
    const { plugin, faults, isTypo } = await addPlugin(name, choices, families, around)
    delete settings[name]
    const path = ['plugins', name]
    const enabled = plugin ? isEnabled(plugin.name, setting) : setting !== false || isTypo === true
    for (const fault of faults) {
      if (enabled) findings.error(path, `${keyOf(path)}: ${fault}`, 'key')
      else findings.warning(path, `${keyOf(path)} is off, and its tables stay as they are: ${fault}`)
    }
    if (!plugin || faults.length > 0) continue
    settings[plugin.name] = setting
    findings.standsAt(['plugins', plugin.name], path)
    choices.push({ plugin, enabled })
  }
  return choices
}

/** Imports a plugin. @returns what is wrong with it; `isTypo` when its name is nearly that of another */
async function addPlugin(
  name: string,
  known: PluginChoice[],
  families: readonly string[],
  { configDir, modules }: ChoiceContext,
): Promise<{ plugin?: Plugin; faults: string[]; isTypo?: boolean }> {
  const names = known.map(({ plugin }) => plugin.name)
  const hint = didYouMean(name, names)
  const unknown = {
    faults: [`there is no built-in plugin and no installed package of this name${hint}`],
    isTypo: hint !== '',
  }
  if (!isPath(name) && !isPackageName(name)) return unknown
  try {
    const exported = await importDefault(name, configDir, modules)
    if (!isDefined(exported)) return { faults: ['does not default-export what definePlugin(…) returns'] }
    const plugin = { ...exported, module: moduleOf(name, configDir) }
    const another = names.includes(plugin.name) ? [`there is another plugin called ${plugin.name}`] : []
    return { plugin, faults: [...another, ...manifestFaults(plugin, families)] }
  } catch (error) {
    return error instanceof ModuleMissing && !isPath(name) ? unknown : { faults: [(error as Error).message] }
  }
}
