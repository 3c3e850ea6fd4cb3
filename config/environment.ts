import { parse, parseDocument } from 'yaml'
import type { Schema } from './expectation.ts'
import { nearest } from './hints.ts'
import type { Path } from './problems.ts'
import { isMapping } from './validate.ts'

/** A value from an environment variable or a command-line option, which takes precedence over the file. */
export interface Override {
  /** The source as the operator wrote it: `SERVICE_LISTEN__PORT`, `--port`. */
  source: string
  path: Path
  value: unknown
}

const PREFIX = 'SERVICE_'

/**
 * These variables are no configuration keys: the CLI client and the adapter in a game's server read them, or they name
 * the configuration file.
 */
const NOT_KEYS = new Set(
  ['CONFIG', 'API_TOKEN', 'BASE_URL', 'CLIENT_ID', 'CLIENT_SECRET', 'SESSION_SECRET', 'REDIRECT_URI'].map(
    (name) => PREFIX + name,
  ),
)

/**
 * Returns the variable of a key: `SERVICE_LISTEN__PORT` for `listen.port`, `SERVICE_STORAGE__ACCESS_KEY_ID` for
 * `storage.accessKeyId`.
 */
export const variableFor = (path: Path): string => PREFIX + path.map((part) => upperSnake(String(part))).join('__')

const upperSnake = (key: string) =>
  key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_/, '')
    .toUpperCase()

const camelCase = (segment: string) =>
  segment.toLowerCase().replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())

/**
 * Reads every `SERVICE_` variable as a key of the configuration.
 *
 * @param values values of the file; where the schema allows any names, the keys of the file are recognised
 * @param report called with the variable and a sentence when its value is not YAML, or its name is nearly that of a key;
 *   as a warning when its name is not, since others set variables with this prefix too
 */
export function readEnvironment(
  env: Record<string, string | undefined>,
  schema: Schema,
  values: Record<string, unknown>,
  report: (variable: string, message: string, severity: 'error' | 'warning') => void,
): Override[] {
  const overrides: Override[] = []
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || NOT_KEYS.has(variable) || text === undefined) continue
    const match = follow(variable.slice(PREFIX.length).split('__'), schema, values)
    if (!match) {
      const meant = nearMiss(variable, schema)
      if (meant === undefined) report(variable, 'matches no key of the configuration, and is ignored', 'warning')
      else report(variable, `matches no key of the configuration, did you mean ${meant}?`, 'error')
    } else if (match.path.length === 1 && match.schema.type === 'object')
      report(variable, `names a whole section; set its keys one by one, as ${variable}__…`, 'error')
    else {
      try {
        overrides.push({ source: variable, path: match.path, value: readValue(text, match.schema) })
      } catch (error) {
        report(variable, `is no YAML value: ${(error as Error).message.split('\n', 1)[0]}`, 'error')
      }
    }
  }
  return overrides
}

/**
 * Reads a string as it is, so that a password of digits does not become a number; parses any other type as YAML. A `#`
 * begins no comment, as it would in a file.
 */
function readValue(text: string, schema: Schema): unknown {
  if (schema.secret && /^\s*\{\s*(file|env)\s*:/.test(text)) return parse(text)
  if (schema.type === 'string') return text
  const value = parse(text, { logLevel: 'error' })
  return parseDocument(text, { logLevel: 'silent' }).contents?.comment ? text : value
}

function follow(segments: string[], schema: Schema, values: unknown): { path: Path; schema: Schema } | null {
  const [segment, ...rest] = segments
  if (segment === undefined) return { path: [], schema }
  const properties = schema.properties ?? {}
  const named = Object.keys(properties).find((name) => upperSnake(name) === segment)
  const existing = isMapping(values) ? Object.keys(values).find((name) => upperSnake(name) === segment) : undefined
  const key = named ?? existing ?? camelCase(segment)
  const next = named === undefined ? openSchema(schema) : properties[named]
  const found = next && follow(rest, next, isMapping(values) ? values[key] : undefined)
  return found ? { path: [key, ...found.path], schema: found.schema } : null
}

/** Returns the schema of keys with arbitrary names, if the schema allows such keys. */
function openSchema({ patternProperties, additionalProperties }: Schema): Schema | undefined {
  const pattern = Object.values(patternProperties ?? {})[0]
  return pattern ?? (additionalProperties === true ? { additionalProperties: true } : additionalProperties || undefined)
}

/** Returns the variable that was meant, if another name is nearly the same apart from the prefix. */
function nearMiss(variable: string, schema: Schema): string | undefined {
  const names = [...NOT_KEYS, ...keyPaths(schema).map(variableFor)].map((name) => name.slice(PREFIX.length))
  const meant = nearest(variable.slice(PREFIX.length), names, { share: 4 })
  return meant === undefined ? undefined : PREFIX + meant
}

/** Lists every key of a schema that holds a value. */
export function keyPaths(schema: Schema, path: Path = []): Path[] {
  if (!schema.properties) return [path]
  return Object.entries(schema.properties).flatMap(([name, property]) => keyPaths(property, [...path, name]))
}

/** Inserts an override and creates the mappings on its path. Validation reports values of the wrong shape. */
export function applyOverride(values: Record<string, unknown>, { path, value }: Override): void {
  let target = values
  for (const part of path.slice(0, -1)) {
    const name = String(part)
    if (!Object.hasOwn(target, name) || target[name] === null) target[name] = {}
    if (!isMapping(target[name])) return
    target = target[name]
  }
  target[String(path.at(-1))] = value
}
