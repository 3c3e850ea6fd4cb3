import Type from 'typebox'
import { kernelLimits, kernelSections } from '../core/config.ts'
import { StartupError } from '../core/errors.ts'
import type { DriverChoice, PluginChoice } from './choices.ts'
import type { Schema } from './expectation.ts'

/**
 * Assembles the schema of the whole configuration: the kernel's sections, one for each driver family, one for each
 * plugin, and all limits under `limits`.
 *
 * @throws StartupError when two owners claim one section or one limit
 */
export function assembleSchema(drivers: DriverChoice[], plugins: PluginChoice[]): Schema {
  const sections = new Owned('section')
  const limits = new Owned('limit')
  for (const [name, section] of Object.entries(kernelSections)) sections.add(name, section, 'the kernel')
  for (const [name, limit] of Object.entries(kernelLimits)) limits.add(name, limit, 'the kernel')
  for (const { family, driver } of drivers)
    sections.add(family.name, driverSection({ family, driver }), `the driver family ${family.name}`)

  const pluginSections: Record<string, Schema> = {}
  for (const { plugin, enabled } of plugins) {
    const own = closed(plugin.config as Schema)
    const nested = plugin.section === `plugins.${plugin.name}`
    if (!nested) sections.add(plugin.section, own, `the plugin ${plugin.name}`)
    for (const [name, section] of Object.entries(plugin.sections))
      sections.add(name, closed(section as Schema), `the plugin ${plugin.name}`)
    const elsewhere = closed({ type: 'object', description: `Its settings stand under \`${plugin.section}\`.` })
    pluginSections[plugin.name] = !enabled ? { const: false } : nested ? own : elsewhere
    for (const [name, limit] of Object.entries(plugin.limits)) limits.add(name, limit, `the plugin ${plugin.name}`)
  }
  const description = "A plugin's own settings; `false` turns it off; the name of a package or a path adds one."
  sections.add(
    'plugins',
    closed({ type: 'object', properties: pluginSections, required: onlySections(pluginSections), description }),
    'the kernel',
  )
  sections.add(
    'limits',
    closed({ type: 'object', properties: limits.schemas, description: 'Every limit, by its name.' }),
    'the kernel',
  )
  return closed({ type: 'object', properties: sections.schemas, required: onlySections(sections.schemas) })
}

function driverSection({ family, driver }: DriverChoice): Schema {
  const builtins = Object.keys(family.builtins)
  const name = Type.String({
    default: family.default,
    description: `Built in: ${builtins.join(', ')}. Or a package, or a path relative to this file.`,
  })
  if (!driver) return { type: 'object', properties: { driver: name }, additionalProperties: true }
  const own = driver.config as Schema
  const properties = { driver: name, ...own.properties }
  return closed({ ...own, type: 'object', properties, required: ['driver', ...(own.required ?? [])] })
}

/** Makes every section present in the result, with its defaults, even if the file lacks it. */
const onlySections = (schemas: Record<string, Schema>): string[] =>
  Object.keys(schemas).filter((name) => schemas[name]?.type === 'object')

const closed = (schema: Schema): Schema => ({
  properties: {},
  ...schema,
  additionalProperties: schema.additionalProperties ?? false,
})

/** Names that only one owner may claim. */
class Owned {
  readonly schemas: Record<string, Schema> = {}
  readonly #owners = new Map<string, string>()
  readonly #what: string

  constructor(what: string) {
    this.#what = what
  }

  add(name: string, schema: unknown, owner: string): void {
    const other = this.#owners.get(name)
    if (other)
      throw new StartupError(
        `The configuration's ${this.#what} \`${name}\` is claimed by both ${other} and ${owner}; rename one of them.`,
      )
    this.#owners.set(name, owner)
    this.schemas[name] = schema as Schema
  }
}
