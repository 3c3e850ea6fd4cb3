import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '../config.ts'
import { configOf, limitsOf, type Plugin, sectionsOf } from '../plugin.ts'
import { pluginFailure } from './extension-errors.ts'

/**
 * Registers the plugins in the given order, each with its section of the configuration.
 *
 * @throws StartupError naming the plugin, if it is an added one that fails
 */
export async function registerPlugins(app: FastifyInstance, plugins: Plugin[], config: Config): Promise<void> {
  for (const plugin of plugins) plugin.check(configOf(plugin, config), config)
  for (const plugin of plugins) {
    const settings = [configOf(plugin, config), limitsOf(plugin, config), sectionsOf(plugin, config)] as const
    const registered = fastifyPlugin(async (scope) => plugin.register(scope, ...settings), {
      name: plugin.name,
      dependencies: plugin.dependencies,
    })
    try {
      await app.register(registered)
    } catch (error) {
      throw pluginFailure(plugin, error)
    }
  }
}
