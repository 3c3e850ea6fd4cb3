import type { Origins } from '../../../core/origins/origins.ts'
import type { Integration } from '../dashboard.ts'
import type { Game } from '../schemas.ts'

/**
 * Instructions that a developer pastes into a coding assistant: addresses, endpoints and what to write. The text is
 * meant to be shared, so it does not contain the client secret.
 */
export function integrationPrompt(
  game: Game,
  { redirectUri, origins, more }: { redirectUri: string; origins: Origins; more: readonly Integration[] },
): string {
  return game.hosted ? hosted(game, origins, more) : elsewhere(game, redirectUri, origins)
}

const hosted = (
  game: Game,
  { portal }: Origins,
  more: readonly Integration[],
): string => `Integrate the browser game "${game.title}" with its platform.

The game is static files (an index.html at the root) hosted at ${game.url}; these addresses are there already, on the
game's own origin, so no server code and no secret is needed:

- Sign-in: GET /auth/service/start?returnTo=/ begins it, GET or POST /auth/service/logout ends it. A sign-in button is
  put into the page automatically; mount your own from /__service/auth-widget.js if you prefer.
- Session: GET /auth/service/session answers { "signedIn": false } or
  { "signedIn": true, "user": { "id", "name", "imageUrl" }, "scope", "expiresAt" }. Key saved games on user.id.
- Multiplayer: import { join } from '/__service/multiplayer.js'; const room = await join('lobby');
  room.send('move', { x, y }); room.on('message', (type, data, from) => {}); room.state.set('score', 3). join() rejects
  for a player who is not signed in.
- Rules that players must not break belong into a room script: one ES module without imports in the build, named by
  "room": "room.js" beside "files" in step 1. It runs on the platform for each room and is never served. It exports any of
  settings, open(room), join(room, player), message(room, player, type, data), tick(room, seconds), leave(room, player);
  with one, messages go to the script alone. The guide: ${portal}/docs/room-scripts
${more
  .toSorted((a, b) => a.order - b.order)
  .map(({ title, prompt, guide }) => `- ${title}: ${prompt} The guide: ${portal}/docs/${guide}\n`)
  .join('')}
The scripts under /__service/ that are imported are ES modules: load the game's own code with <script type="module">. No secret belongs into
the files of the build, which everybody can read.

Read the session when the game starts, and keep the game playable for people who are not signed in.

Publish a build (token with the scope deployments:write in SERVICE_API_TOKEN):
1. POST ${portal}/api/deploy with { "gameId": "${game.id}", "files": [{ "path", "size", "sha256" }] }.
2. PUT each file of the answer's "uploads" to its uploadUrl with the given headers.
3. POST ${portal}/api/deploy/{deployId}/finalize.

OAuth client id: ${game.clientId}
`

const elsewhere = (
  game: Game,
  redirectUri: string,
  { portal }: Origins,
): string => `Add player sign-in to the browser game "${game.title}", which lives at ${game.url}.

OAuth 2.0 authorization code flow with PKCE (S256):
- Client id: ${game.clientId}. The client secret is in the environment variable SERVICE_CLIENT_SECRET on the server;
  never put it into browser code.
- Redirect URI, exactly: ${redirectUri}
- Authorize: ${portal}/oauth/authorize
- Token: POST ${portal}/api/oauth/token (form-encoded)
- User: ${portal}/api/oauth/userinfo; "sub" is the player's id, to key saved games on.

On Node, use the package @gameyard/adapter (npm install ${portal}/download/gameyard-adapter.tgz). Express:
  import { createAuth } from '@gameyard/adapter/express'
  const auth = createAuth()
  app.use(auth)
  const session = await auth.getSession(request) // { signedIn, user: { id, name, imageUrl }, scope, expiresAt }
Next.js: createAuth from '@gameyard/adapter/next', with GET and POST exported from
app/auth/service/[...route]/route.js. Fastify: '@gameyard/adapter/fastify'. Hono: '@gameyard/adapter/hono'.
Configuration by environment: SERVICE_CLIENT_ID=${game.clientId}, SERVICE_CLIENT_SECRET,
SERVICE_SESSION_SECRET (32 random bytes or more), SERVICE_REDIRECT_URI=${redirectUri}, SERVICE_BASE_URL=${portal}.

Elsewhere, serve these on the game's own server: GET /auth/service/start, GET /auth/service/callback (check "state"),
GET /auth/service/session, GET and POST /auth/service/logout.
`
