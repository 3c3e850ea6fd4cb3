import { dirname, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { StartupError } from '../errors.ts'
import type { ExtensionModule, Plugin } from '../plugin.ts'

/** A line of a stack, or the first line of a syntax error. */
const PLACE = /^(?:\s+at (?:.*\()?(?:async )?)?((?:file:\/\/|[A-Za-z]:)?[\\/].*?):(\d+)(?::(\d+))?\)?$/

/** Describes what the code of an added plugin or driver has thrown, with the place in that code if there is one. */
export function describeThrown(error: unknown, module: ExtensionModule): string {
  const place = placeIn(error, module)
  const text = error instanceof Error ? error.message || error.name : `it throws ${inspect(error)}`
  return place === null ? text : `${text.replace(/\.$/, '')} (${place})`
}

/** Returns the first file of a stack that belongs to a module, with line and column. */
export function placeIn(error: unknown, { name, file }: ExtensionModule): string | null {
  const stack = (error as Partial<Error> | null | undefined)?.stack
  if (typeof stack !== 'string') return null
  const places = stack.split('\n').flatMap((line) => {
    const [, at = '', ...position] = PLACE.exec(line) ?? []
    const path = at.startsWith('file:') ? fileURLToPath(at) : at
    return path ? [{ path, text: [path, ...position.filter(Boolean)].join(':') }] : []
  })
  const inPackages = (path: string) => path.split(sep).includes('node_modules')
  const own =
    file === null
      ? places.find(({ path }) => path.includes(['', 'node_modules', ...name.split('/'), ''].join(sep)))
      : (places.find(({ path }) => path === file) ??
        places.find(({ path }) => path.startsWith(dirname(file) + sep) && !inPackages(path)))
  return own?.text ?? null
}

/** Says which added plugin has failed, and where. An error of a built-in plugin stays as it is. */
export const pluginFailure = ({ name, module }: Plugin, error: unknown): unknown =>
  module && !(error instanceof PluginFailure)
    ? new PluginFailure(`The plugin ${name} (${module.name}) can't be started: ${describeThrown(error, module)}`)
    : error

/** Finds the added plugin whose code has thrown an error outside of its `register`, such as in `onReady`. */
export function failureOfAny(plugins: Plugin[], error: unknown): unknown {
  if (error instanceof StartupError) return error
  const plugin = plugins.find(({ module }) => module && placeIn(error, module) !== null)
  return plugin ? pluginFailure(plugin, error) : error
}

class PluginFailure extends StartupError {}
