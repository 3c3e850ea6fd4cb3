import { realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/client'
import type { Api } from '../api.ts'
import { deploy } from '../deploy/deploy.ts'
import { readBuild } from '../deploy/folder.ts'
import { CliError } from '../errors.ts'
import { getGame } from '../games.ts'
import type { Questions } from './elicitation.ts'

export interface Surroundings {
  /** The folder of the assistant's project. Only folders in it are published. */
  cwd: string
  stateFolder: string
  signal: AbortSignal
}

/** The tool that needs the files of this machine. The platform has all others. */
export const DEPLOY_FOLDER = {
  name: 'deploy_folder',
  title: 'Publish a folder',
  description:
    'Publishes a folder of this project that has an index.html, atomically; only changed files are uploaded. Not published: .git, .env*, node_modules, and what a .gameyardignore in it lists.',
  inputSchema: {
    type: 'object',
    properties: {
      folder: {
        type: 'string',
        minLength: 1,
        description: 'The finished build, relative to the project, such as `dist`.',
      },
      game: {
        type: 'string',
        minLength: 1,
        maxLength: 63,
        description: "The game's id or slug; game_create makes one.",
      },
      message: { type: 'string', maxLength: 500, description: 'A note for the history.' },
      preview: { type: 'boolean', description: 'Publish at a preview address; the live version stays.' },
    },
    required: ['folder', 'game'],
    additionalProperties: false,
  },
  annotations: {
    title: 'Publish a folder',
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
} as const

interface Connection {
  api: Api
  questions: Questions
  notify(message: JSONRPCMessage): Promise<void>
}

/** Publishes a folder, after asking where the client can. Refusals are answers for the assistant. */
export async function callFolderTool(
  { api, questions, notify }: Connection,
  call: JSONRPCRequest,
  { cwd, stateFolder, signal }: Surroundings,
): Promise<Record<string, unknown>> {
  const { arguments: given = {}, _meta: meta } = call.params as {
    arguments?: { folder?: unknown; game?: unknown; message?: unknown; preview?: unknown }
    _meta?: { progressToken?: string | number }
  }
  const progressToken = meta?.progressToken
  let sent = 0
  const news = (message: string) => {
    if (progressToken === undefined) return
    const about = { progressToken, progress: ++sent, message }
    void notify({ jsonrpc: '2.0', method: 'notifications/progress', params: about })
  }
  try {
    const { folder, game: named, message, preview } = given
    if (typeof folder !== 'string' || typeof named !== 'string') {
      throw new CliError('Send `folder` and `game`, both as text.', { code: 'invalid_request' })
    }
    const path = resolve(cwd, folder)
    if (!(await isInside(path, cwd))) {
      throw new CliError(`${folder} is outside of this project, ${cwd}.`, { code: 'invalid_request' })
    }
    const build = await readBuild(path)
    const game = await getGame(api, named)
    const question = `Replace the live version of ${game.title} with the folder ${folder}?`
    const decision = preview === true || (await questions.confirm(call, question, signal))
    if (typeof decision === 'object') return decision
    if (!decision) return refusal('The person said no, so nothing was changed.')
    const result = await deploy(
      api,
      {
        game,
        build,
        stateFolder,
        signal,
        ...(typeof message === 'string' ? { message } : {}),
        preview: preview === true,
      },
      {
        hashing: (files) => news(`reading ${files} files`),
        uploading: (files) => news(`uploading ${files} files`),
        arrived: () => news('a file has arrived'),
        waiting: (reason) => news(reason),
        publishing: () => news('publishing'),
        resuming: () => news('going on with an interrupted deploy'),
        advance() {},
      },
    )
    return { content: [{ type: 'text', text: JSON.stringify({ ...result, leftOut: build.leftOut }) }] }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const { message, code, hint, details } = error
    const body = { message, code, ...(details.length ? { details } : {}), ...(hint ? { next: hint } : {}) }
    return refusal(JSON.stringify({ error: body }))
  }
}

/** Whether a folder is in another, and also the one to which a symbolic link leads. */
async function isInside(path: string, folder: string): Promise<boolean> {
  const isIn = (inner: string, outer: string) => inner === outer || inner.startsWith(outer + sep)
  if (!isIn(path, folder)) return false
  // A folder that is not there is named by what reads it.
  const [inner, outer] = await Promise.all([realpath(path).catch(() => null), realpath(folder)])
  return inner === null || isIn(inner, outer)
}

const refusal = (text: string) => ({ isError: true, content: [{ type: 'text', text }] })
