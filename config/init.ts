import { stringify } from 'yaml'
import type { AnyDriver, DriverFamily } from '../core/driver.ts'
import type { Plugin } from '../core/plugin.ts'
import { choices, type Schema } from './expectation.ts'
import { assembleSchema } from './schema.ts'

/** The keys that new operators change first; the file contains all other keys as comments. */
const ACTIVE = new Set(['listen', 'listen.host', 'listen.port', 'dataDir', 'portal', 'portal.name'])

/** The defaults of these keys derive from other keys, so they have no value of their own to show. */
const FOLLOWS: Record<string, string> = {
  'portal.url': 'Follows listen.port when it is not set.',
  'studio.url': "The portal's own address when it is not set.",
  'games.domain': 'Follows portal.url on this machine; needed when portal.url is elsewhere.',
}

const HEADER = `# Gameyard. Every key is here; one that is commented out shows its default.
# Any key can come from the environment instead: listen.port from SERVICE_LISTEN__PORT.
# A secret may stand here, or point elsewhere: { file: /run/secrets/name } or { env: NAME }.
# Check this file with: gameyard config check
`

/** Generates a configuration file from the schemas, with a description of every key. */
export async function initialConfig(families: DriverFamily[], plugins: Plugin[]): Promise<string> {
  const drivers = await Promise.all(families.map(async (family) => ({ family, drivers: await loadBuiltins(family) })))
  const schema = assembleSchema(
    drivers.map(({ family, drivers }) => ({ family, driver: drivers.find(isDefault(family)) ?? null })),
    plugins.map((plugin) => ({ plugin, enabled: true })),
  )
  const blocks = Object.entries(schema.properties ?? {}).map(([name, section]) => describe(name, section, name, ''))
  const others = drivers.flatMap(({ family, drivers }) =>
    drivers.filter((driver) => !isDefault(family)(driver)).map((driver) => alternative(family, driver)),
  )
  return [HEADER, ...blocks, ...others].join('\n')
}

const loadBuiltins = (family: DriverFamily): Promise<AnyDriver[]> =>
  Promise.all(Object.values(family.builtins).map(async (load) => (await load()).default))

const isDefault = (family: DriverFamily) => (driver: AnyDriver) => driver.name === family.default

function alternative(family: DriverFamily, driver: AnyDriver): string {
  const config = driver.config as Schema
  const name = { const: driver.name, default: driver.name }
  const section = { ...config, type: 'object', properties: { driver: name, ...config.properties } }
  return `# Instead of the ${family.name} above:\n${describe(family.name, section, family.name, '')}`
}

/** Renders one key with its description; a mapping with its content. */
function describe(name: string, schema: Schema, key: string, indent: string): string {
  const comment = [schema.description, FOLLOWS[key], oneOf(schema)].filter(Boolean).join(' ')
  const lead = ACTIVE.has(key) ? indent : `# ${indent}`
  const head = comment
    ? wrap(comment, ACTIVE.has(parentOf(key)) || parentOf(key) === '' ? `${indent}# ` : `# ${indent}# `)
    : ''
  if (schema.type === 'object' && schema.properties) {
    const inner = Object.entries(schema.properties).map(([child, property]) =>
      describe(child, property, `${key}.${child}`, `${indent}  `),
    )
    return inner.length > 0 ? `${head}${lead}${name}:\n${inner.join('')}` : `${head}${lead}${name}: {}\n`
  }
  return `${head}${`${lead}${name}: ${sample(schema)}`.trimEnd()}\n`
}

const parentOf = (key: string) => key.split('.').slice(0, -1).join('.')

function oneOf(schema: Schema): string {
  const listed = choices(schema)
  return listed && listed.length > 1 ? `One of ${listed.join(', ')}.` : ''
}

function sample(schema: Schema): string {
  if (schema.default !== undefined) return stringify(schema.default, { collectionStyle: 'flow', lineWidth: 0 }).trim()
  if (schema.secret) return '{ env: NAME }'
  return Array.isArray(schema.examples) ? String(schema.examples[0]) : ''
}

function wrap(text: string, lead: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string
    if (line && lead.length + line.length + word.length > 110) lines.push(word)
    else lines[lines.length - 1] = line ? `${line} ${word}` : word
  }
  return lines.map((line) => `${lead}${line}\n`).join('')
}
