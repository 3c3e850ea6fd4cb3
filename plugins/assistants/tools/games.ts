import { Readable } from 'node:stream'
import Type from 'typebox'
import { fileOf } from '../file-bytes.ts'
import { CALL_LIMIT } from '../message-size.ts'
import { From } from '../stored-files.ts'
import { defineTools } from '../tool.ts'

const GameId = Type.String({ maxLength: 63, description: "The game's id or slug." })

export const gameTools = defineTools([
  {
    name: 'games_list',
    title: 'List your games',
    route: 'GET /api/games',
    description:
      'Lists the games of the signed-in person, newest first, with id, slug, address, visibility and settings. Pass `nextCursor` as `cursor` for the next page.',
    effect: 'reads',
    call: async ({ app, playerId }, { deleted, ...page }) => {
      const { games, nextCursor } = await app.games.list(
        playerId,
        { limit: 20, ...page },
        { deleted: deleted ?? false },
      )
      return { games: await app.games.members.describe(playerId, games), nextCursor }
    },
  },
  {
    name: 'game_create',
    title: 'Create a game',
    route: 'POST /api/games',
    description:
      'Creates a game with an address of its own; sign-in, rooms, saves and scores work there at once. Publish files with deploy_files next.',
    effect: 'adds',
    answers: 'GET /api/games/:id',
    game: (_args, { id }) => id,
    // The client secret is for servers of games elsewhere. It has no place in the transcript of an assistant.
    call: async ({ app, playerId }, fields) =>
      app.games.members.describeOne(playerId, await app.games.create(playerId, fields)),
  },
  {
    name: 'game_get',
    title: 'Look at a game',
    route: 'GET /api/games/:id',
    description: 'Returns one game with its address, live deploy, settings and counts. `id` is its id or slug.',
    effect: 'reads',
    game: ({ id }) => id,
    call: async ({ app, playerId }, { id }) =>
      app.games.members.describeOne(playerId, await app.games.mustMake(playerId, id)),
  },
  {
    name: 'game_update',
    title: 'Change a game',
    route: 'PATCH /api/games/:id',
    description:
      'Changes the named fields of a game: title, description, tags, features (input, players, languages, orientation, accessibility), visibility, slug, url (the game then lives at that site, and players are sent there), settings. Other fields keep their value.',
    effect: 'replaces',
    repeatable: true,
    confirm: ({ id, visibility, slug, url, playable }) =>
      visibility !== undefined || slug !== undefined || url !== undefined || playable === false
        ? `Change who can reach the game ${id}, or at which address?`
        : null,
    game: ({ id }) => id,
    call: async ({ app, playerId }, { id, ...changes }) =>
      app.games.members.describeOne(playerId, await app.games.update(playerId, id, changes)),
  },
  {
    name: 'media_add',
    title: 'Add a picture or video to a game',
    route: 'POST /api/games/:id/media',
    description: `Adds a picture (PNG, JPEG, WebP, GIF; up to 10 MiB) or a video (MP4, WebM) to the page of a game, at most 12 in all. Its cover, on cards and previews of links, is the first picture, or the picture added with \`cover: true\`. game_get lists them under \`media\`. ${CALL_LIMIT}`,
    effect: 'adds',
    input: {
      id: GameId,
      base64: Type.Optional(Type.String({ description: 'The bytes of the file, or `from`.' })),
      from: Type.Optional(From),
      cover: Type.Optional(Type.Boolean({ description: 'Make it the cover; default false.' })),
    },
    game: ({ id }) => id,
    call: async (call, { id, base64, from, cover = false }) => {
      const { app, playerId } = call
      const added = await app.games.media.add(playerId, id, Readable.from([await fileOf(call, { base64, from })]))
      if (cover && added.kind === 'image') await app.games.update(playerId, id, { coverMediaId: added.id })
      return added
    },
  },
  {
    name: 'media_remove',
    title: 'Remove a picture or video of a game',
    route: 'DELETE /api/games/:id/media/:mediaId',
    description: 'Removes a picture or video from the page of a game. game_get lists them under `media`.',
    effect: 'replaces',
    confirm: ({ id, mediaId }) => `Remove the picture or video ${mediaId} from the game ${id}?`,
    game: ({ id }) => id,
    answers: 'any',
    call: async ({ app, playerId }, { id, mediaId }) => {
      await app.games.media.remove(playerId, id, mediaId)
      return { removed: mediaId }
    },
  },
  {
    name: 'game_analytics',
    title: 'Look at the statistics of a game',
    route: 'GET /api/games/:id/analytics',
    description: 'Returns plays, players, sign-ins and the most players at once, by day (UTC) and in total.',
    effect: 'reads',
    game: ({ id }) => id,
    call: ({ app, playerId }, { id, ...query }) => app.games.analytics(playerId, id, query),
  },
  {
    name: 'game_logs',
    title: 'Read the log of room scripts',
    route: 'GET /api/games/:id/logs',
    description:
      'Returns what the room scripts of a game logged with `room.log`, and their exceptions with line and column, newest first. Rooms that are open keep their script; `deploy_files` reaches the next room.',
    effect: 'reads',
    game: ({ id }) => id,
    without: ['follow'],
    call: async ({ app, playerId }, { id, ...page }) => {
      const game = await app.games.mustMake(playerId, id)
      return app.rooms.logs.list(game.id, { limit: 50, ...page })
    },
  },
  {
    name: 'game_errors',
    title: 'Read the exceptions of players',
    route: 'GET /api/games/:id/errors',
    description:
      'Returns the exceptions in the browsers of players with file, line, stack and number of occurrences, the latest first. Pages report them with `<script src="/__service/errors.js"></script>`, first in the head.',
    effect: 'reads',
    game: ({ id }) => id,
    call: async ({ app, playerId }, { id }) => {
      const game = await app.games.mustMake(playerId, id)
      return { errors: await app.gameErrors.list(game.id) }
    },
  },
  {
    name: 'boards_list',
    title: 'List the leaderboards of a game',
    route: 'GET /api/games/:id/boards',
    description: 'Lists the boards of a game with their order, format and rules. `id` is the id or slug of the game.',
    effect: 'reads',
    game: ({ id }) => id,
    call: async ({ app, playerId }, { id }) => {
      const game = await app.games.mustMake(playerId, id)
      return { boards: (await app.scores.boards.list(game.id)).map(boardOf) }
    },
  },
  {
    name: 'boards_set',
    title: 'Create or change a leaderboard',
    route: 'PUT /api/games/:id/boards/:boardId',
    description:
      'Creates a leaderboard, or changes the named fields of one. Pages of the game then use `board("<boardId>")` of /__service/scores.js.',
    // A change that would alter the scores of a board is refused.
    effect: 'adds',
    repeatable: true,
    game: ({ id }) => id,
    call: async ({ app, playerId }, { id, boardId, ...fields }) => {
      const game = await app.games.mustMake(playerId, id)
      const { board } = await app.scores.boards.put(game.id, boardId, fields)
      return Object.assign(boardOf(board), { warning: await app.scores.warningOf(game, board) })
    },
  },
  {
    name: 'docs_search',
    title: 'Search the guides',
    route: 'GET /api/docs/search',
    description:
      'Finds the sections of this platform’s guides that answer a question, and returns them with code; `cut` tells a long one whose guide, a resource, has the rest. Search here before you guess an address, an option or a limit.',
    effect: 'reads',
    input: {
      q: Type.String({ minLength: 1, maxLength: 100, description: 'A few words, such as `saves offline`.' }),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, description: 'Sections; default 4.' })),
    },
    answers: 'any',
    call: async ({ app }, { q, limit = 4 }) => {
      const found = await app.guides.passages(q, limit)
      return { sections: found.map(({ href, ...passage }) => ({ ...passage, url: app.origins.portal + href })) }
    },
  },
])

interface StoredBoard {
  id: string
  fields: object
  createdAt: Date
  updatedAt: Date
}

/** The form of a board in the API. */
const boardOf = ({ id, fields, createdAt, updatedAt }: StoredBoard) => ({
  ...fields,
  id,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
})
