import { definePlugin } from '../../core/plugin.ts'
import type {} from '../deploy/index.ts'
import type {} from '../docs/index.ts'
import type {} from '../games/index.ts'
import type {} from '../tokens/index.ts'
import { LastCalls } from './last-calls.ts'
import { llmsRoutes } from './llms.ts'
import { connectSection } from './pages/connect.ts'
import { routes } from './routes.ts'

/** Coding assistants: the platform by the Model Context Protocol. */
export default definePlugin(
  { name: 'assistants', dependencies: ['oauth-idp', 'tokens', 'games', 'deploy', 'docs'] },
  async (app) => {
    app.games.dashboard.integrateSections.push(() => connectSection(app))
    app.identity.connectedSections.push(() => connectSection(app))
    const lastCalls = new LastCalls(app)
    app.identity.connectionFlushes.push(() => lastCalls.flush())
    await app.register(routes(lastCalls))
    await app.register(llmsRoutes)
  },
)
