import Type from 'typebox'
import Value from 'typebox/value'
import { RESERVED_NAMES } from '../core/boot/reserved-names.ts'
import { isTable, type Plugin } from '../core/plugin.ts'
import { didYouMean } from './hints.ts'
import { isMapping } from './validate.ts'

/** What `definePlugin` returns, whatever is in it. */
const Defined = Type.Object({ name: Type.Unknown(), section: Type.Unknown(), register: Type.Unknown() })

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const MIGRATION = /^\d{4}_\d{2}_\d{2}_[a-z0-9_]+$/

/** What each property of a manifest must be. A rule returns what was expected, or null. */
const RULES: Record<string, (value: never) => string | null> = {
  name: (name: unknown) => expecting(isText(name, NAME), 'lower-case words joined by `-`'),
  dependencies: (names: unknown) => expecting(isList(names, isText), 'a list of names of plugins'),
  config: (schema: unknown) => expecting(isObjectSchema(schema), 'Type.Object({ … })'),
  check: (check: unknown) => expecting(typeof check === 'function', 'a function'),
  section: (section: unknown) => expecting(isText(section), 'the name of a section'),
  sections: (sections: unknown) =>
    expecting(isMapping(sections) && Object.values(sections).every(isObjectSchema), '{ name: Type.Object({ … }) }'),
  limits: (limits: unknown) =>
    expecting(
      isMapping(limits) && Object.values(limits).every((limit) => isMapping(limit) && limit.default !== undefined),
      'a schema with a default for each name: { name: Type.Integer({ default: 1 }) }',
    ),
  entities: (entities: unknown) => expecting(isList(entities, isTable), 'a list of entities'),
  migrations: migrationsRule,
  register: (register: unknown) => expecting(typeof register === 'function', 'a function, after the manifest'),
}

/** Whether a value is what `definePlugin` returns. Its properties may still be wrong. */
export const isDefined = (value: unknown): value is Plugin => Value.Check(Defined, value)

/**
 * Checks the contract of a plugin, as far as one manifest tells.
 *
 * @param families the names of the driver families
 * @returns a sentence for each fault, with the property and what it must be
 */
export function manifestFaults(plugin: Plugin, families: readonly string[]): string[] {
  const faults = Object.entries(RULES).flatMap(([property, rule]) => {
    const expected = rule(plugin[property as keyof Plugin] as never)
    return expected === null ? [] : [`\`${property}\` must be ${expected}`]
  })
  for (const property of Object.keys(plugin))
    if (!Object.hasOwn(RULES, property) && property !== 'module')
      faults.push(`a plugin has no property \`${property}\`${didYouMean(property, Object.keys(RULES))}`)
  const { name } = plugin
  if (families.includes(name)) faults.push(`\`name\` must not be \`${name}\`, which is a family of drivers`)
  else if (RESERVED_NAMES.has(name)) faults.push(`\`name\` must not be \`${name}\`, which the platform itself uses`)
  return faults
}

function migrationsRule(migrations: unknown): string | null {
  if (!Array.isArray(migrations)) return 'a list of migrations'
  for (const [index, migration] of migrations.entries()) {
    if (!isMapping(migration) || !isText(migration.name, MIGRATION))
      return `a list of migrations; \`migrations[${index}].name\` must be a date and words, such as \`2026_11_21_guestbook\``
    for (const dialect of ['sqlite', 'postgres'])
      if (!isList(migration[dialect], isText))
        return `a list of migrations; \`${dialect}\` of ${migration.name} must be a list of statements`
  }
  return null
}

const expecting = (isMet: boolean, expected: string) => (isMet ? null : expected)

const isText = (value: unknown, pattern = /./): boolean => typeof value === 'string' && pattern.test(value)

const isList = (value: unknown, isElement: (element: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every((element) => isElement(element))

const isObjectSchema = (schema: unknown): boolean => isMapping(schema) && schema.type === 'object'
