import { type EntityClass, EntitySchema } from '@mikro-orm/core'
import type { FastifyInstance } from 'fastify'
import type { Static, TObject, TProperties } from 'typebox'
import Type from 'typebox'
import type { Config } from './config.ts'
import type { Migration } from './data/migrations.ts'
import { StartupError } from './errors.ts'

/** The owner of background jobs that are nobody's; see `NewJob.owner`. */
export { PLATFORM } from './jobs/jobs.ts'

export interface PluginManifest<Schema extends TObject, Limits extends TProperties, Sections extends SectionSchemas> {
  /** Lower-case words joined by `-`; unique in the program. */
  name: string
  /** Plugins that must be registered first, so that `register` can use their decorators. */
  dependencies?: string[]
  /** Schema and defaults of the plugin's section of the configuration. */
  config?: Schema
  /**
   * Checks what the schema can't say, such as keys that contradict each other or another section, without connecting to
   * anything. `gameyard config check` and every start call it before `register`.
   *
   * @param platform the whole configuration, with defaults
   * @throws StartupError with one sentence that begins with the key
   */
  check?: (config: Static<Schema>, platform: Config) => void
  /** Name of that section at the top level (`auth`); default `plugins.<name>`. */
  section?: string
  /** Further sections at the top level, by name, for settings with their own topic (`oauth`). */
  sections?: Sections
  /** Values that the plugin adds under `limits`, by name. */
  limits?: Limits
  /** The tables of the plugin. No other plugin writes to them. */
  entities?: (EntitySchema | EntityClass<unknown>)[]
  migrations?: Migration[]
}

type SectionSchemas = Record<string, TObject>

/**
 * A plugin's register function. It receives the app, its section of the configuration, its limits and its further
 * sections, all with defaults.
 */
export type PluginRegister<
  Schema extends TObject,
  Limits extends TProperties,
  Sections extends SectionSchemas = Record<string, never>,
> = (
  app: FastifyInstance,
  config: Static<Schema>,
  limits: Static<TObject<Limits>>,
  sections: { [Name in keyof Sections]: Static<Sections[Name]> },
) => Promise<void>

/** The normalised manifest of a plugin in the kernel. */
export interface Plugin extends Required<PluginManifest<TObject, TProperties, SectionSchemas>> {
  /** The module that the configuration adds; absent for a built-in plugin. */
  module?: ExtensionModule
  register: PluginRegister<TObject, TProperties, SectionSchemas>
}

/** The module of a plugin or a driver that the configuration names. */
export interface ExtensionModule {
  /** A package or a path, as in the configuration. */
  name: string
  /** The absolute path of a file; null for a package. */
  file: string | null
}

/**
 * The complete contract of a plugin.
 *
 * A plugin is one capability. The kernel reads the manifest of every plugin before anything runs: it checks that names
 * and tables are unique, that dependencies exist and have no cycles, and gives each plugin its section of the
 * configuration. It then calls `register` once, in dependency order, and migrates the database when every call has
 * succeeded, so that a plugin that breaks its contract leaves the database unchanged. Tables do not exist yet in
 * `register`; code that needs them runs in Fastify's `onReady`.
 *
 * `register` decorates the app with one service (the plugin's whole public interface beside its schemas and events) and
 * registers its routes with `app.register(routes)`, which gives them a scope of their own. Every route declares
 * `config.auth` and `constraints.origin`; a route that does not stops the start. Resources that must end with the
 * process are closed in Fastify's `onClose`.
 */
export function definePlugin<
  Schema extends TObject = TObject,
  Limits extends TProperties = TProperties,
  Sections extends SectionSchemas = Record<string, never>,
>(manifest: PluginManifest<Schema, Limits, Sections>, register: PluginRegister<Schema, Limits, Sections>): Plugin {
  return {
    dependencies: [],
    config: Type.Object({}),
    check: () => {},
    section: `plugins.${manifest.name}`,
    sections: {},
    limits: {},
    entities: [],
    migrations: [],
    ...manifest,
    register,
  } as unknown as Plugin
}

/**
 * Checks the manifests against each other and sorts them so that each plugin comes after its dependencies.
 *
 * @param disabled plugins that are turned off
 * @throws StartupError naming the plugin that breaks the contract, and the fix
 */
export function sortByDependencies(plugins: Plugin[], disabled: Plugin[] = []): Plugin[] {
  const byName = new Map<string, Plugin>()
  const owners = new Map<string, string>()
  const claim = (thing: string, plugin: Plugin) => {
    const other = owners.get(thing)
    if (other)
      throw new StartupError(`The plugins ${other} and ${plugin.name} both own the ${thing}; rename one of them.`)
    owners.set(thing, plugin.name)
  }
  for (const plugin of plugins) {
    if (byName.has(plugin.name))
      throw new StartupError(`There are two plugins named ${plugin.name}; remove one of them.`)
    byName.set(plugin.name, plugin)
    for (const entity of plugin.entities) claim(`table ${tableOf(entity)}`, plugin)
    for (const migration of plugin.migrations) claim(`migration ${migration.name}`, plugin)
    for (const limit of Object.keys(plugin.limits)) claim(`limit ${limit}`, plugin)
  }
  const sorted = new Set<Plugin>()
  const visit = (plugin: Plugin, path: string[]) => {
    if (path.includes(plugin.name)) {
      throw new StartupError(`The plugins ${[...path, plugin.name].join(' -> ')} depend on each other in a circle.`)
    }
    for (const name of plugin.dependencies) {
      const dependency = byName.get(name)
      if (!dependency) {
        const missing = disabled.some((other) => other.name === name) ? 'turned off; turn it on' : 'not there; add it'
        throw new StartupError(
          `The plugin ${plugin.name} needs the plugin ${name}, which is ${missing} or turn ${plugin.name} off.`,
        )
      }
      visit(dependency, [...path, plugin.name])
    }
    sorted.add(plugin)
  }
  for (const plugin of plugins) visit(plugin, [])
  return [...sorted]
}

/** Whether a value is what `entities` of a manifest may have. */
export const isTable = (value: unknown): boolean =>
  EntitySchema.is(value) || EntitySchema.REGISTRY.has(value as EntityClass<unknown>)

function tableOf(entity: Plugin['entities'][number]): string {
  const schema = EntitySchema.is(entity) ? entity : EntitySchema.REGISTRY.get(entity)
  return schema?.meta.tableName ?? schema?.meta.className ?? String(entity)
}

/** Returns a plugin's own section of the configuration. */
export function configOf(plugin: Plugin, config: Config): never {
  return plugin.section
    .split('.')
    .reduce<unknown>((part, key) => (part as Record<string, unknown> | undefined)?.[key], config) as never
}

/** Returns the further sections of a plugin. */
export function sectionsOf(plugin: Plugin, config: Config): never {
  return Object.fromEntries(Object.keys(plugin.sections).map((name) => [name, config[name]])) as never
}

/** Returns a plugin's values under `limits`. */
export function limitsOf(plugin: Plugin, config: Config): never {
  return Object.fromEntries(Object.keys(plugin.limits).map((name) => [name, config.limits[name]])) as never
}
