import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '../config.ts'
import { configOf, limitsOf, type Plugin, sectionsOf } from '../plugin.ts'

/** Registers the plugins in the given order, each with its section of the configuration. */
export async function registerPlugins(app: FastifyInstance, plugins: Plugin[], config: Config): Promise<void> {
  for (const plugin of plugins) plugin.check(configOf(plugin, config), config)
  for (const plugin of plugins) {
    const settings = [configOf(plugin, config), limitsOf(plugin, config), sectionsOf(plugin, config)] as const
    await app.register(
      fastifyPlugin(async (scope) => plugin.register(scope, ...settings), {
        name: plugin.name,
        dependencies: plugin.dependencies,
      }),
    )
  }
}
