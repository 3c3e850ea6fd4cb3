import { type GetPromptResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { isPlatformError, MissingScope } from '../../core/errors.ts'
import type { Caller } from './call-tool.ts'

interface Prompt {
  name: string
  title: string
  description: string
  argument: { name: string; description: string }
  /** @param value of the argument */
  write(caller: Caller, value: string): Promise<string>
}

/** Every prompt. Each has one argument. */
export const PROMPTS: readonly Prompt[] = [
  {
    name: 'add-sign-in',
    title: 'Add sign-in to a game',
    description: 'Lets players of a game sign in, and greets them by name.',
    argument: { name: 'game', description: "The game's id or slug." },
    write: async (caller, game) =>
      `${await integration(caller, game)}
Add sign-in to this game: show who is signed in, offer sign-in and sign-out, and keep the game playable for people who
are signed out. Read the files with game_files and game_read_file, change only what is needed, and publish with
deploy_files (pass basedOn, so that nobody's work is lost). Then tell me what you changed, and where to try it.`,
  },
  {
    name: 'add-rooms',
    title: 'Add rooms for several players to a game',
    description: 'Lets players of a game meet in rooms and see each other.',
    argument: { name: 'game', description: "The game's id or slug." },
    write: async (caller, game) =>
      `${await integration(caller, game)}
Make this a game for several players: everyone who opens it joins the room "lobby" and sees the others move. Read the guide
first (docs_search "rooms", "room scripts"), then the files of the game, change only what is needed, and publish with
deploy_files (pass basedOn). Then tell me how to try it with two browsers.`,
  },
  {
    name: 'make-a-game',
    title: 'Create a game',
    description: 'Makes a small browser game from an idea, and publishes it.',
    argument: { name: 'idea', description: 'What the game is about, in a sentence.' },
    write: async (_caller, idea) =>
      `Make a small browser game and publish it on this platform: ${idea}

It is static files with an index.html at the root, plain JavaScript modules, and nothing from other sites. It works with
keyboard and touch. Make it with game_create, publish with deploy_files, set a leaderboard with boards_set if it has a
score, and look up saves, scores and rooms with docs_search before you use them. Then give me its address, and offer to make its cover: ai_generate with \`asset\` costs credits, and
media_add sets the picture.`,
  },
]

export const describePrompt = ({ name, title, description, argument }: Prompt) => ({
  name,
  title,
  description,
  arguments: [{ ...argument, required: true }],
})

/** Writes a prompt. @throws ProtocolError for an unknown prompt, a missing argument, or a game that is not the player's */
export async function getPrompt(caller: Caller, name: string, given: Record<string, string>): Promise<GetPromptResult> {
  const prompt = PROMPTS.find((candidate) => candidate.name === name)
  if (!prompt) throw refused(`There is no prompt ${name}.`)
  const value = given[prompt.argument.name]?.trim()
  if (!value || value.length > 1000) throw refused(`The argument ${prompt.argument.name} is required.`)
  try {
    const text = await prompt.write(caller, value)
    return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] }
  } catch (error) {
    throw isPlatformError(error) ? refused(error.message) : error
  }
}

const refused = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message)

async function integration({ app, principal }: Caller, game: string): Promise<string> {
  const { scopes, playerId } = principal
  if (scopes !== 'all' && !scopes.has('games:read')) throw new MissingScope('games:read')
  return app.games.integrationPrompt(await app.games.mustMake(playerId, game))
}
