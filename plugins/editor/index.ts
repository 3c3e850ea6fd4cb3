import { definePlugin } from '../../core/plugin.ts'
import { Drafted } from './draft-source.ts'
import { Drafts } from './drafts.ts'
import { DraftFile, DraftRow } from './entities.ts'
import { exportDrafts } from './export.ts'
import { migration } from './migrations/2026_11_23_drafts.ts'
import { pages } from './pages.ts'
import { routes } from './routes.ts'
import { EditorLimits } from './schemas.ts'
import { STORED_KIND, storedDrafts } from './stored-bytes.ts'

declare module 'fastify' {
  interface FastifyInstance {
    drafts: Drafts
  }
}

/** The editor: a game's files are changed in the browser, as a draft, previewed, and published. */
export default definePlugin(
  {
    name: 'editor',
    dependencies: ['oauth-idp', 'quotas', 'games', 'deploy', 'assets', 'game-edge'],
    limits: EditorLimits,
    entities: [DraftRow, DraftFile],
    migrations: [migration],
  },
  async (app, _config, limits) => {
    const drafts = new Drafts(app, limits)
    app.decorate('drafts', drafts)
    app.deploys.drafts.keptBy(new Drafted(app, drafts.store))
    app.quotas.kinds.set(STORED_KIND, storedDrafts(app))
    app.games.deletion.cleanups.push((em, gameId) => drafts.forget(em, gameId))
    app.identity.deletion.exporters.set('drafts', (playerId) => exportDrafts(app, playerId))
    app.games.dashboard.tabs.push({ label: 'Code', order: 15, href: (game) => `/games/${game.slug}/code` })
    await app.register(routes(limits))
    await app.register(pages)
  },
)
