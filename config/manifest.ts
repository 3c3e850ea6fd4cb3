import Type from 'typebox'
import Value from 'typebox/value'
import { RESERVED_NAMES } from '../core/boot/reserved-names.ts'
import type { AnyDriver } from '../core/driver.ts'
import { isTable, type Plugin } from '../core/plugin.ts'
import { didYouMean } from './hints.ts'
import { isMapping } from './validate.ts'

/** Whether a value is what `definePlugin` returns. Its properties may still be wrong. */
export const isDefined = (value: unknown): value is Plugin => Value.Check(Defined, value)

/** Whether a value is what `defineDriver` returns. Its properties may still be wrong. */
export const isDriver = (value: unknown): value is AnyDriver => Value.Check(Driver, value)

/**
 * Checks the contract of a plugin, as far as one manifest tells.
 *
 * @param families the names of the driver families
 * @returns a sentence for each fault, with the property and what it must be
 */
export function manifestFaults(plugin: Plugin, families: readonly string[]): string[] {
  const faults = faultsBy(PLUGIN_RULES, plugin)
  for (const property of Object.keys(plugin))
    if (!Object.hasOwn(PLUGIN_RULES, property) && property !== 'module')
      faults.push(`a plugin has no property \`${property}\`${didYouMean(property, Object.keys(PLUGIN_RULES))}`)
  const { name } = plugin
  if (families.includes(name)) faults.push(`\`name\` must not be \`${name}\`, which is a family of drivers`)
  else if (RESERVED_NAMES.has(name)) faults.push(`\`name\` must not be \`${name}\`, which the platform itself uses`)
  return faults
}

/** Checks the contract of a driver. @returns a sentence for each fault */
export const driverFaults = (driver: AnyDriver): string[] => faultsBy(DRIVER_RULES, driver)

const Defined = Type.Object({ name: Type.Unknown(), section: Type.Unknown(), register: Type.Unknown() })
const Driver = Type.Object({
  family: Type.String(),
  name: Type.String(),
  config: Type.Unknown(),
  create: Type.Unknown(),
})

/** Returns what a property must be, if it is something else. */
type Rule = (value: unknown) => string | null

const expecting = (isMet: boolean, expected: string) => (isMet ? null : expected)

const settingsRule: Rule = (schema) => expecting(isObjectSchema(schema), 'Type.Object({ … })')

const PLUGIN_RULES: Record<string, Rule> = {
  name: (name) => expecting(isText(name, /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/), 'lower-case words joined by `-`'),
  dependencies: (names) => expecting(isList(names, isText), 'a list of names of plugins'),
  config: settingsRule,
  check: (check) => expecting(typeof check === 'function', 'a function'),
  section: (section) => expecting(isText(section), 'the name of a section'),
  sections: (sections) =>
    expecting(isMapping(sections) && Object.values(sections).every(isObjectSchema), '{ name: Type.Object({ … }) }'),
  limits: (limits) =>
    expecting(
      isMapping(limits) && Object.values(limits).every((limit) => isMapping(limit) && limit.default !== undefined),
      'a schema with a default for each name: { name: Type.Integer({ default: 1 }) }',
    ),
  entities: (entities) => expecting(isList(entities, isTable), 'a list of entities'),
  migrations: migrationsRule,
  register: (register) => expecting(typeof register === 'function', 'a function, after the manifest'),
}

const DRIVER_RULES: Record<string, Rule> = {
  config: settingsRule,
  check: (check) => expecting(check === undefined || typeof check === 'function', 'a function'),
  create: (create) => expecting(typeof create === 'function', 'a function'),
}

function migrationsRule(migrations: unknown): string | null {
  if (!Array.isArray(migrations)) return 'a list of migrations'
  for (const [index, migration] of migrations.entries()) {
    if (!isMapping(migration) || !isText(migration.name, /^\d{4}_\d{2}_\d{2}_[a-z0-9_]+$/))
      return `a list of migrations; \`migrations[${index}].name\` must be a date and words, such as \`2026_11_21_guestbook\``
    for (const dialect of ['sqlite', 'postgres'])
      if (!isList(migration[dialect], isText))
        return `a list of migrations; \`${dialect}\` of ${migration.name} must be a list of statements`
  }
  return null
}

const faultsBy = (rules: Record<string, Rule>, value: object): string[] =>
  Object.entries(rules).flatMap(([property, rule]) => {
    const expected = rule(value[property as keyof typeof value])
    return expected === null ? [] : [`\`${property}\` must be ${expected}`]
  })

const isText = (value: unknown, pattern = /./): boolean => typeof value === 'string' && pattern.test(value)

const isList = (value: unknown, isElement: (element: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every((element) => isElement(element))

const isObjectSchema = (schema: unknown): boolean => isMapping(schema) && schema.type === 'object'
