import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/ai/interface.ts'
import type {} from '../billing/index.ts'
import type {} from '../game-edge/index.ts'
import type {} from '../games/index.ts'
import { Allowances } from './allowances/allowances.ts'
import { contributeAllowances } from './allowances/retention.ts'
import { allowancePages } from './allowances/routes.ts'
import { AiAllowance, AiAllowanceUse, GenerationRow } from './entities.ts'
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

const AI_EXAMPLE = `import { generate } from '/__service/ai.js'

const hello = await generate({ prompt: 'Greet a knight.' }).catch((error) => error)
if (hello.allowUrl) button.onclick = () => open(hello.allowUrl, '_blank') // the player allows it there
else console.log(hello.result ?? hello.message)`

/** AI generation that is paid with credits. */
export default definePlugin(
  {
    name: 'ai',
    dependencies: ['oauth-idp', 'billing', 'tokens', 'games', 'game-edge'],
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
    const { db, clock, log, credits, games, identity, tracing } = app
    const schemas = new SchemaCheck(app, limits.aiSchemaBytes)
    app.addHook('onClose', () => schemas.close())
    const allowances = new Allowances(app)
    const parts = { db, clock, log, credits, games, identity, tracing, providers, schemas, limits, allowances }
    app.decorate('ai', new Generations(parts))
    contributeAllowances(app, allowances)
    // Its costs remain attributed to the game.
    identity.deletion.cleanups.push((em, playerId) => em.nativeUpdate(GenerationRow, { playerId }, { playerId: '' }))
    app.games.dashboard.integrations.push({
      title: 'AI',
      order: 40,
      guide: 'ai',
      description:
        'Texts, objects by a schema, and pictures, on credits of the player, who first allows the game some a day.',
      code: AI_EXAMPLE,
      prompt:
        "import { generate } from '/__service/ai.js'; (await generate({ prompt })).result is a text; { type: 'object', prompt, schema } and { type: 'image', prompt } work too, on credits of the player who is signed in. It rejects with error.code; of ai_not_allowed, open error.allowUrl in a new tab from a click, and call again. Programs use POST /api/ai/generate with a token of the scope ai:generate, which must never be in the files of the build.",
    })
    app.games.dashboard.tabs.push({ label: 'AI', order: 75, href: (game) => `/games/${game.slug}/ai` })
    app.site.navigation.push({ label: 'AI playground', href: '/playground', place: 'make', order: 50 })
    contributeSpending(app)
    await app.register(routes(limits))
    await app.register(pages(limits))
    await app.register(gameRoutes(limits))
    await app.register(allowancePages(allowances))
  },
)
