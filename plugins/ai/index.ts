import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/ai/interface.ts'
import type {} from '../billing/index.ts'
import type {} from '../games/index.ts'
import { GenerationRow } from './entities.ts'
import { Generations } from './generations.ts'
import { migration } from './migrations/2026_11_21_ai.ts'
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
    dependencies: ['billing', 'tokens', 'games'],
    limits: AiLimits,
    entities: [GenerationRow],
    migrations: [migration],
  },
  async (app, _config, limits) => {
    const { aiDriver: text, aiObject, aiImage } = app
    const providers = {
      text,
      object: aiObject.models.object.length > 0 ? aiObject : text,
      image: aiImage.models.image.length > 0 ? aiImage : text,
    }
    const { db, clock, log, credits, games, identity, tracing } = app
    const schemas = new SchemaCheck(app, limits.aiSchemaBytes)
    app.addHook('onClose', () => schemas.close())
    app.decorate(
      'ai',
      new Generations({ db, clock, log, credits, games, identity, tracing, providers, schemas, limits }),
    )
    // Its costs remain attributed to the game.
    identity.deletion.cleanups.push((em, playerId) => em.nativeUpdate(GenerationRow, { playerId }, { playerId: '' }))
    app.games.dashboard.integrations.push({
      title: 'AI',
      order: 40,
      guide: 'ai',
      description: 'Text, objects by a schema, and pictures, paid with the credits of the caller.',
      code: null,
      prompt:
        'POST /api/ai/generate of the platform with { type: "text" | "object" | "image", prompt } generates; it needs a token with the scope ai:generate, which must never be in the files of the build.',
    })
    app.games.dashboard.tabs.push({ label: 'AI', order: 75, href: (game) => `/games/${game.slug}/ai` })
    app.site.navigation.push({ label: 'AI playground', href: '/playground', place: 'make', order: 50 })
    contributeSpending(app)
    await app.register(routes(limits))
    await app.register(pages(limits))
  },
)
