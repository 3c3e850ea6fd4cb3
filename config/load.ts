import { readFileSync, statSync } from 'node:fs'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { dirname, resolve } from 'node:path'
import { describeThrown } from '../core/boot/extension-errors.ts'
import type { Config } from '../core/config.ts'
import { isInsideData } from '../core/data/backups/destination.ts'
import type { ChosenDriver, DriverFamily } from '../core/driver.ts'
import { StartupError } from '../core/errors.ts'
import { isAddress } from '../core/pages/legal.ts'
import { configOf, type ExtensionModule, type Plugin, sortByDependencies } from '../core/plugin.ts'
import { normaliseAddresses } from './addresses.ts'
import { chooseDrivers, choosePlugins } from './choices.ts'
import { applyOverride, type Override, readEnvironment } from './environment.ts'
import type { Schema } from './expectation.ts'
import { Findings } from './findings.ts'
import { applyLan } from './lan.ts'
import { ConfigError, keyOf, type Problem } from './problems.ts'
import { chooseBus } from './processes.ts'
import type { ProgramModules } from './program-modules.ts'
import { checkRules, deriveAddresses } from './rules.ts'
import { assembleSchema } from './schema.ts'
import { fetchSecret } from './secrets.ts'
import { readSource, type Source } from './source.ts'
import { isMapping, validate } from './validate.ts'

export interface LoadOptions {
  /**
   * The file as the operator named it, relative to `cwd`. Default: `SERVICE_CONFIG`, or `gameyard.yaml` if it exists.
   */
  file?: string | undefined
  cwd: string
  env: Record<string, string | undefined>
  /** Command-line options. They take precedence over the environment, which takes precedence over the file. */
  overrides?: Override[]
  families: DriverFamily[]
  /** The built-in plugins. The configuration can disable them and add others. */
  plugins: Plugin[]
  /** What added plugins and drivers may import of the program. Without it they need packages beside them. */
  modules?: ProgramModules
  /** The networks of this machine, from `os.networkInterfaces()`; used by `lan`. */
  networks?: NodeJS.Dict<NetworkInterfaceInfo[]>
}

export interface LoadedConfig {
  /** The complete configuration: it includes defaults, environment and secrets, and `dataDir` is absolute. */
  config: Config
  /** The enabled plugins. */
  plugins: Plugin[]
  /** The plugins that are turned off. The database may have their tables. */
  disabled: Plugin[]
  drivers: Record<string, ChosenDriver>
  /** The file as the operator named it, or null when there is none. */
  file: string | null
  /** Absolute path of the folder that paths in the configuration are relative to. */
  configDir: string
  /** Warnings only; errors are thrown. */
  problems: Problem[]
  schema: Schema
}

const DEFAULT_FILE = 'gameyard.yaml'

/**
 * Reads the configuration from file, environment and command line, and validates it as a whole.
 *
 * @throws ConfigError with every error, each with its place, the expected value and a hint
 * @throws StartupError when plugins contradict each other
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { cwd } = options
  // An empty variable is one that is not set: files for containers often have a line for each.
  const env = Object.fromEntries(Object.entries(options.env).filter(([, text]) => text !== ''))
  const source = openSource(options)
  if (source && source.problems.length > 0) throw new ConfigError(source.problems)
  const configDir = source ? dirname(resolve(cwd, source.name)) : cwd
  const findings = new Findings(source)
  const values = source?.values ?? {}

  chooseBus(values, { env, overrides: options.overrides ?? [] })
  const around = { values, env, configDir, findings, modules: options.modules }
  const drivers = await chooseDrivers(options.families, around)
  const names = options.families.map(({ name }) => name)
  const plugins = await choosePlugins(options.plugins, names, around)
  const schema = assembleSchema(drivers, plugins)

  const variables = readEnvironment(env, schema, values, (variable, message, severity) =>
    findings.problems.push({ severity, key: '', message: `${variable} ${message}`, source: null }),
  )
  for (const override of [...variables, ...(options.overrides ?? [])]) {
    findings.comesFrom(override.source, override.path)
    applyOverride(values, override)
  }
  turnOn(values)
  normaliseAddresses(values)
  applyLan(values, options.networks ?? networkInterfaces(), findings)
  deriveAddresses(values)

  const config = validate(schema, values, [], {
    report: findings.error,
    secret: (path, pointer) =>
      fetchSecret(pointer, { configDir, env: options.env, warn: (message) => findings.warning(path, message) }),
  }) as Config
  checkRules(config, findings)
  if (config.backup?.schedule) await checkSchedule(config.backup.schedule, findings)
  findLegalTexts(config, configDir, findings)
  if (!findings.sound) throw new ConfigError(findings.problems)
  const chosen = (wanted: boolean) => plugins.filter(({ enabled }) => enabled === wanted).map(({ plugin }) => plugin)
  const [enabled, disabled] = [chosen(true), chosen(false)]
  sortByDependencies(enabled, disabled)
  for (const { family, driver, module } of drivers)
    checkPart(findings, [family.name], () => driver?.check?.(ownKeysOf(config, family) as never), module)
  for (const plugin of enabled)
    checkPart(findings, plugin.section.split('.'), () => plugin.check(configOf(plugin, config), config), plugin.module)
  if (!findings.sound) throw new ConfigError(findings.problems)

  config.dataDir = resolve(configDir, config.dataDir)
  checkBackups(config, configDir, findings)
  if (!findings.sound) throw new ConfigError(findings.problems)
  const { tls, socket } = config.listen
  if (socket) config.listen.socket = resolve(configDir, socket)
  for (const path of ['cert', 'key', 'challenges'] as const) if (tls[path]) tls[path] = resolve(configDir, tls[path])
  return {
    config,
    plugins: enabled,
    disabled,
    drivers: Object.fromEntries(
      drivers.map(({ family, driver }) => [family.name, { driver, config: ownKeysOf(config, family) } as ChosenDriver]),
    ),
    file: source?.name ?? null,
    configDir,
    problems: findings.problems,
    schema,
  }
}

/** Returns the section of a driver family without the name of the driver. */
function ownKeysOf(config: Config, family: DriverFamily): Record<string, unknown> {
  const { driver: _name, ...own } = config[family.name] as Record<string, unknown>
  return own
}

/** Makes the check of a driver or a plugin, about what its schema can't say. */
function checkPart(findings: Findings, section: string[], check: () => void, module?: ExtensionModule): void {
  try {
    check()
  } catch (error) {
    if (error instanceof StartupError) findings.error(section, error.message)
    else if (module) findings.error(section, `${keyOf(section)}: its check fails: ${describeThrown(error, module)}`)
    else throw error
  }
}

/** Checks that a schedule is one. */
async function checkSchedule(schedule: string, { error }: Findings): Promise<void> {
  const { Cron } = await import('croner')
  try {
    new Cron(schedule, { paused: true })
  } catch (cause) {
    error(['backup', 'schedule'], `backup.schedule: ${(cause as Error).message.replace(/\.?$/, '')}`)
  }
}

/** Scheduled backups in the data folder would be lost with it, and some would copy themselves. */
function checkBackups({ backup, dataDir }: Config, configDir: string, { error }: Findings): void {
  if (!backup.schedule || typeof backup.to !== 'string' || !isInsideData(resolve(configDir, backup.to), dataDir)) return
  error(
    ['backup', 'to'],
    `backup.to: ${backup.to} is in the data folder; name a folder on another disk, or ${resolve(dataDir, 'backups')}`,
  )
}

/** Resolves the files of `portal.legal` against the folder of the configuration. A missing one is an error. */
function findLegalTexts({ portal }: Config, configDir: string, findings: Findings): void {
  for (const name of ['terms', 'privacy'] as const) {
    const text = portal?.legal?.[name]
    if (typeof text !== 'string' || isAddress(text)) continue
    const file = resolve(configDir, text)
    portal.legal[name] = file
    if (!statSync(file, { throwIfNoEntry: false })?.isFile())
      findings.error(['portal', 'legal', name], `portal.legal.${name}: there is no file ${file}`)
  }
}

/** Opens the named file, or the default file if it exists; returns null for neither. */
function openSource({ file, cwd, env }: LoadOptions): Source | null {
  const named = file ?? (env.SERVICE_CONFIG || undefined)
  const name = named ?? DEFAULT_FILE
  try {
    return readSource(name, readFileSync(resolve(cwd, name), 'utf8'))
  } catch (error) {
    const { code, message: reason } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && named === undefined) return null
    const message =
      code === 'ENOENT'
        ? `there is no file ${name}; \`gameyard init\` writes one`
        : `the file can't be read (${code ?? reason})`
    throw new ConfigError([{ severity: 'error', key: '', message, source: name }])
  }
}

/** `plugins: { chat: true }` enables the plugin with its defaults. */
function turnOn({ plugins }: Record<string, unknown>): void {
  if (!isMapping(plugins)) return
  for (const [name, setting] of Object.entries(plugins)) if (setting === true) plugins[name] = {}
}
