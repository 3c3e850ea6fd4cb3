import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Type from 'typebox'
import { InvalidRequest, NotFound } from '../../../core/errors.ts'
import { decodeBase64, encodeText } from '../file-bytes.ts'
import { CALL_LIMIT } from '../message-size.ts'
import { From, StoredFiles } from '../stored-files.ts'
import { defineTools, type ToolCall } from '../tool.ts'

/** The longest part of a file in one answer. Longer answers fill the context of an assistant. */
const MOST_READ = 256 * 1024

const Id = Type.String({ maxLength: 63, description: "The game's id or slug." })
const Path = Type.String({ minLength: 1, maxLength: 512, description: 'Relative, such as `js/main.js`.' })
const Files = Type.Record(
  Type.String({ maxLength: 512 }),
  Type.Union([
    Type.String({ description: 'Text, stored as UTF-8.' }),
    Type.Object(
      { base64: Type.String({ description: 'Any bytes, also as a `data:` URL.' }) },
      { additionalProperties: false },
    ),
    Type.Object({ from: From }, { additionalProperties: false }),
  ]),
  {
    maxProperties: 2000,
    description:
      'By path: the text of a file, `{ "base64": "…" }`, or `{ "from": "…" }` for a file that the platform has. A whole build needs `index.html` at its root.',
  },
)

export const deployTools = defineTools([
  {
    name: 'deploy_files',
    title: 'Publish files of a game',
    route: 'POST /api/deploy',
    description: `Publishes files atomically and returns the address to play. By default they change the live build, whose other files stay; with \`whole: true\` they are the whole build. ${CALL_LIMIT}`,
    effect: 'replaces',
    input: {
      gameId: Id,
      files: Files,
      remove: Type.Optional(Type.Array(Path, { maxItems: 2000, description: 'Files of the live build to leave out.' })),
      whole: Type.Optional(Type.Boolean({ description: 'These are all files; default false.' })),
      basedOn: Type.Optional(
        Type.String({ maxLength: 30, description: 'The deploy that you read; refused with 409 if another is live.' }),
      ),
      room: Type.Optional(
        Type.Union([Type.String({ minLength: 1, maxLength: 512 }), Type.Null()], {
          description:
            'The file that is the room script (see docs_search `room scripts`); null: none. Default: the live one.',
        }),
      ),
      message: Type.Optional(Type.String({ maxLength: 500, description: 'A note for the history.' })),
      preview: Type.Optional(
        Type.Boolean({ description: 'Publish at a preview address; the live build stays. Default false.' }),
      ),
      restartRooms: Type.Optional(
        Type.Boolean({
          description: 'End the live rooms, so that players come back to rooms with the new script. Not for a preview.',
        }),
      ),
    },
    answers: 'any',
    confirm: ({ gameId, whole, preview }) =>
      whole && !preview ? `Replace everything that is live in the game ${gameId}?` : null,
    game: ({ gameId }) => gameId,
    call: async (call, { files, whole = false, remove = [], ...build }) =>
      call.app.deploys.publish(call.playerId, { ...build, whole, remove, files: await bytesOf(call, files) }),
  },
  {
    name: 'deploys_list',
    title: 'List the deploys of a game',
    route: 'GET /api/games/:id/deploys',
    description:
      'Lists the deploys of a game, newest first, with state, note and preview address. `preview` tells those that never were live.',
    effect: 'reads',
    game: ({ id }) => id,
    call: ({ app, playerId }, { id, ...page }) => app.deploys.list(playerId, id, { limit: 20, ...page }),
  },
  {
    name: 'deploy_rollback',
    title: 'Put an earlier deploy live',
    route: 'POST /api/deploy/:deployId/rollback',
    description:
      'Puts an earlier deploy, or a preview, live at once. deploys_list has the ids; the deploy that was live stays in the list.',
    effect: 'replaces',
    repeatable: true,
    confirm: ({ deployId }) => `Put the deploy ${deployId} live instead of the current one?`,
    game: (_args, { manageUrl }) => manageUrl.split('/').at(-1) ?? null,
    call: ({ app, playerId }, { deployId, ...options }) => app.deploys.rollback(playerId, deployId, options),
  },
  {
    name: 'game_files',
    title: 'List the files of a game',
    route: 'GET /api/games/:id',
    description: 'Lists the files of the live build of a game, or of another of its deploys, with size and media type.',
    effect: 'reads',
    game: ({ id }) => id,
    input: { id: Id, deployId: Type.Optional(Type.String({ maxLength: 30, description: 'Default: the live one.' })) },
    answers: 'any',
    call: async (call, { id, deployId }) => {
      const { deploy, manifest } = await buildOf(call, id, deployId)
      const files = Array.from(manifest, ([path, { size, contentType }]) => ({ path, size, contentType }))
      return { deployId: deploy, files }
    },
  },
  {
    name: 'game_read_file',
    title: 'Read a file of a game',
    route: 'GET /api/games/:id',
    description:
      'Reads one file of the live build, or of another deploy: text as `text`, other bytes as `base64`, at most 256 KiB a call; `offset` reads on.',
    effect: 'reads',
    game: ({ id }) => id,
    input: {
      id: Id,
      path: Path,
      deployId: Type.Optional(Type.String({ maxLength: 30, description: 'Default: the live one.' })),
      offset: Type.Optional(Type.Integer({ minimum: 0, description: 'In bytes; default 0.' })),
    },
    answers: 'any',
    call: async (call, { id, path, deployId, offset = 0 }) => {
      const { deploy, manifest } = await buildOf(call, id, deployId)
      const file = manifest.get(path)
      if (!file) throw new NotFound('file').with({ details: [{ path: 'path', message: 'is not in this deploy' }] })
      if (offset > file.size) throw new InvalidRequest(`The file has ${file.size} bytes.`)
      const end = Math.min(file.size, offset + MOST_READ)
      const bytes = end > offset ? await readPart(call, file.sha256, { start: offset, end: end - 1 }) : Buffer.alloc(0)
      const about = { deployId: deploy, path, contentType: file.contentType, size: file.size }
      const { content, sent } = contentOf(bytes, { isEnd: end === file.size })
      return { ...about, ...content, nextOffset: offset + sent < file.size ? offset + sent : null }
    },
  },
])

type FileArgument = string | { base64: string } | { from: string }

/** The bytes of small files that are decoded in one turn of the event loop. */
const TURN_BYTES = 1024 * 1024

/** Reads the files of a call. @throws InvalidRequest for what is no base64; what StoredFiles throws */
async function bytesOf(call: ToolCall, files: Record<string, FileArgument>): Promise<Map<string, Buffer>> {
  const stored = new StoredFiles(call)
  const bytes = new Map<string, Buffer>()
  let left = TURN_BYTES
  for (const [path, content] of Object.entries(files)) {
    if (typeof content === 'string') bytes.set(path, await encodeText(content))
    else if ('from' in content) bytes.set(path, await stored.read(content.from, `files.${path}`))
    else bytes.set(path, await decodeBase64(content.base64, `files.${path}`))
    left -= bytes.get(path)?.length ?? 0
    if (left > 0) continue
    await nextTurn()
    left = TURN_BYTES
  }
  return bytes
}

/** Finds a deploy of a player's game, by default the live one. @throws NotFound */
async function buildOf({ app, playerId }: ToolCall, gameId: string, deployId: string | undefined) {
  const game = await app.games.mustMake(playerId, gameId)
  const deploy = deployId ?? game.liveDeployId
  if (deployId !== undefined && (await app.deploys.get(playerId, deployId)).gameId !== game.id) {
    throw new NotFound('deploy of this game')
  }
  const manifest = deploy === null ? null : await app.deploys.manifest(deploy)
  if (deploy === null || !manifest) throw new NotFound('live build; deploy_files makes the first')
  return { deploy, manifest }
}

async function readPart({ app }: ToolCall, sha256: string, range: { start: number; end: number }): Promise<Buffer> {
  const stream: Readable = await app.storage.get(app.deploys.blobKey(sha256), range)
  return buffer(stream)
}

/**
 * Text if the bytes are UTF-8, or else base64. Of text that goes on, a character that is cut at the end is left for the
 * next part.
 *
 * @returns `sent`: the number of bytes in `content`
 */
function contentOf(bytes: Buffer, { isEnd }: { isEnd: boolean }) {
  const whole = isEnd ? bytes : bytes.subarray(0, bytes.length - cutAtEnd(bytes))
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(whole)
    return { content: { text }, sent: whole.length }
  } catch {
    return { content: { base64: bytes.toString('base64') }, sent: bytes.length }
  }
}

/** The number of bytes at the end, at most 3, that begin a longer UTF-8 character (RFC 3629 section 3). */
function cutAtEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}
