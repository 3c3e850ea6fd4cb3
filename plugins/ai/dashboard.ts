import type { FastifyInstance } from 'fastify'

const AI_EXAMPLE = `import { generate } from '/__service/ai.js'

const hello = await generate({ prompt: 'Greet a knight.' }).catch((error) => error)
if (hello.allowUrl) button.onclick = () => open(hello.allowUrl, '_blank') // the player allows it there
else console.log(hello.result ?? hello.message)`

/** Adds the AI to the integrations and the tabs of a game. */
export function contributeToDashboard(app: FastifyInstance): void {
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
}
