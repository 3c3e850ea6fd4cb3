// The first game in the engines of Firefox and Safari; ../first-game.test.ts has it in Chromium.
import t from 'tap'
import { openEngine } from '../../kit/engines/engine.ts'
import { startServer } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { playFirstGame } from '../first-game-steps.ts'

for (const name of ['firefox', 'webkit'] as const) {
  t.test(
    `a newcomer publishes a real game and plays it with a friend in ${name}`,
    { timeout: timeLimit(240) },
    async (t) => {
      const engine = await openEngine(t, name)
      if (engine) await playFirstGame(t, engine, await startServer(t))
    },
  )
}
