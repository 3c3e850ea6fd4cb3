import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/ai/interface.ts'
import type {} from '../billing/index.ts'
import type {} from '../game-edge/index.ts'
import type {} from '../games/index.ts'
import { Allowances } from './allowances/allowances.ts'
import { contributeAllowances } from './allowances/retention.ts'
import { allowancePages } from './allowances/routes.ts'
import { contributeToDashboard } from './dashboard.ts'
import { AiAllowance, AiAllowanceUse, GenerationRow } from './entities.ts'
import { exportGenerations } from './export-generations.ts'
import { gameRoutes } from './game-routes.ts'
import { Generations } from './generations.ts'
import { migration } from './migrations/2026_11_21_ai.ts'
import { migration as allowancesMigration } from './migrations/2026_11_26_ai_allowances.ts'

import { pages } from './pages/routes.ts'
import { routes } from './routes.ts'
import { SchemaCheck } from './schema-check.ts'
import { AiLimits } from './schemas.ts'
import { contributeSpending } from './spending.ts'

export { AiNotConfigured } from './errors.ts'
export type { Payer } from './generations.ts'
export type { GenerateRequest, Generation } from './schemas.ts'

declare module 'fastify' {
  interface FastifyInstance {
    ai: Generations
  }
}

/** AI generation that is paid with credits. */
export default definePlugin(
  {
    name: 'ai',
    dependencies: ['oauth-idp', 'billing', 'tokens', 'games', 'assets', 'game-edge'],
    limits: AiLimits,
    entities: [GenerationRow, AiAllowance, AiAllowanceUse],
    migrations: [migration, allowancesMigration],
  },
  async (app, _config, limits) => {
    const { aiDriver: text, aiObject, aiImage } = app
    const providers = {
      text,
      object: aiObject.models.object.length > 0 ? aiObject : text,
      image: aiImage.models.image.length > 0 ? aiImage : text,
    }
    const { db, clock, log, credits, games, identity, tracing, assets } = app
    const schemas = new SchemaCheck(app, limits.aiSchemaBytes)
    app.addHook('onClose', () => schemas.close())
    const allowances = new Allowances(app)
    const parts = { db, clock, log, credits, games, identity, tracing, providers, schemas, limits, allowances, assets }
    app.decorate('ai', new Generations(parts))
    contributeAllowances(app, allowances)
    identity.deletion.exporters.set('aiGenerations', (playerId) => exportGenerations(app, playerId))
    // Its costs remain attributed to the game.
    identity.deletion.cleanups.push((em, playerId) => em.nativeUpdate(GenerationRow, { playerId }, { playerId: '' }))
    contributeToDashboard(app)
    app.site.navigation.push({ label: 'AI playground', href: '/playground', place: 'make', order: 50 })
    contributeSpending(app)
    await app.register(routes(limits))
    await app.register(pages(limits))
    await app.register(gameRoutes(limits))
    await app.register(allowancePages(allowances))
  },
)
