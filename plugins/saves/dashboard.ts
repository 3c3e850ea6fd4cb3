import type { FastifyInstance } from 'fastify'
import { playersWithSaves } from './player-saves.ts'

const SAVES_EXAMPLE = `import { saves } from '/__service/saves.js'

const progress = (await saves.get('progress')) ?? { level: 1 }
await saves.set('progress', progress)`

/** Adds the saves to the integrations and the figures of a game. */
export function contributeToDashboard(app: FastifyInstance): void {
  app.games.dashboard.integrations.push({
    title: 'Saves',
    order: 10,
    guide: 'saves',
    description: 'What a player did stays. Signed out, it stays on the device until the next sign-in.',
    code: SAVES_EXAMPLE,
    prompt:
      "import { saves } from '/__service/saves.js'; await saves.get(key) is the value or undefined, await saves.set(key, value) keeps any JSON for this player, also offline and signed out. Do not use localStorage for progress.",
  })
  app.games.dashboard.gameStats.push({
    label: 'players with saves',
    order: 10,
    value: ({ id }) => playersWithSaves(app.db, id),
  })
}
