import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type { Override } from '../config/environment.ts'
import type { LoadedConfig } from '../config/load.ts'
import { readServiceUnit } from './service-unit.ts'

/** The options of commands that read the configuration. */
export interface ConfigOptions {
  config?: string
  port?: number
  data?: string
  /** `serve` only: enables LAN mode, with the given address or the detected one. */
  lan?: true | string
  https?: true
  /** `serve` only: how many processes serve. */
  processes?: number | 'auto'
}

/** Adds `--config` and `--data`. */
export const withFileOptions = (command: Command): Command =>
  command
    .option('-c, --config <file>', 'configuration file (default: $SERVICE_CONFIG, or gameyard.yaml if there is one)')
    .option('-d, --data <folder>', 'keep the data in this folder instead')

/** Adds `--config`, `--data` and `--port`. */
export const withConfigOptions = (command: Command): Command =>
  withFileOptions(command).option('-p, --port <number>', 'listen on this port instead; 0 picks a free one', portNumber)

function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('expected 0 to 65535.')
  return Number(text)
}

/** Returns the configuration overrides of the command line. Paths are relative to the working directory. */
export function overridesOf({ port, data, lan, https, processes }: ConfigOptions): Override[] {
  const overrides: Override[] = []
  if (port !== undefined) overrides.push({ source: '--port', path: ['listen', 'port'], value: port })
  if (data !== undefined) overrides.push({ source: '--data', path: ['dataDir'], value: resolve(data) })
  if (lan !== undefined) overrides.push({ source: '--lan', path: ['lan', 'enabled'], value: true })
  if (typeof lan === 'string') overrides.push({ source: '--lan', path: ['lan', 'address'], value: lan })
  if (https) overrides.push({ source: '--https', path: ['lan', 'https'], value: true })
  if (processes !== undefined)
    overrides.push({ source: '--processes', path: ['listen', 'processes'], value: processes })
  return overrides
}

/** Returns the arguments that pass the same options to another run of this program. */
export function argumentsOf({ config, port, data }: ConfigOptions): string[] {
  return Object.entries({ config, port, data }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  )
}

/** What plugins and drivers that the configuration names may import. */
const modules = async () => (await import('./extension-modules.ts')).EXTENSION_MODULES

/** Loads the configuration with all built-in drivers and plugins. @throws ConfigError */
export async function loadProgramConfig(options: ConfigOptions, further: Override[] = []): Promise<LoadedConfig> {
  const [{ loadConfig }, { families }, { plugins }] = await Promise.all([
    import('../config/load.ts'),
    import('../drivers/index.ts'),
    import('../plugins/index.ts'),
  ])
  const overrides = [...overridesOf(options), ...further]
  return loadConfig({
    file: options.config,
    cwd: process.cwd(),
    env: process.env,
    overrides,
    families,
    plugins,
    modules,
  })
}

/**
 * Loads the configuration of a platform that exists already, for commands that work on its data. Where neither an
 * option nor the environment nor the working directory names one, it is that of the installed service.
 *
 * @throws ConfigError
 */
export const loadPlatformConfig = (options: ConfigOptions): Promise<LoadedConfig> =>
  loadProgramConfig(isNamed(options) ? options : { ...options, ...ofTheService() })

const isNamed = ({ config, data }: ConfigOptions): boolean =>
  [config, data, process.env.SERVICE_CONFIG, process.env.SERVICE_DATA_DIR].some((name) => name !== undefined) ||
  ['gameyard.yaml', 'data'].some((name) => existsSync(name))

function ofTheService(): Pick<ConfigOptions, 'config'> {
  const config = readServiceUnit()?.config
  return config === undefined ? {} : { config }
}

/** Variables that describe where the data is. They are about the configuration in force, not about another file. */
const OF_THE_DATA = /^SERVICE_(DATA_DIR$|(DATABASE|STORAGE)__)/

/** Loads a further configuration, of which the file alone says where its data is. @throws ConfigError */
export async function loadTargetConfig(file: string): Promise<LoadedConfig> {
  const [{ loadConfig }, { families }, { plugins }] = await Promise.all([
    import('../config/load.ts'),
    import('../drivers/index.ts'),
    import('../plugins/index.ts'),
  ])
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OF_THE_DATA.test(name)))
  return loadConfig({ file, cwd: process.cwd(), env, families, plugins, modules })
}
