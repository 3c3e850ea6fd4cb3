import { realpath } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/client'
import type { Api } from '../api.ts'
import { publish } from '../deploy/publish.ts'
import { CliError } from '../errors.ts'
import { projectFor } from '../project.ts'
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
    'Publishes a folder of this project that has an index.html, atomically; only changed files are uploaded. The gameyard.json of the folder or of the project says its room script, boards and features. Not published: .git, .env*, node_modules, and what a .gameyardignore in it lists.',
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
      restartRooms: {
        type: 'boolean',
        description: 'End the live rooms, so that players come back to rooms with the new room script.',
      },
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
    arguments?: Record<string, unknown>
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
    const { folder, ...options } = checked(given)
    const path = resolve(cwd, folder)
    const mustBeInside = async (file: string) => {
      if (!(await isInside(file, cwd))) {
        throw new CliError(`${relative(cwd, file)} is outside of this project, ${cwd}.`, { code: 'invalid_request' })
      }
    }
    await mustBeInside(path)
    const found = await projectFor(path, cwd)
    let decision: boolean | Record<string, unknown> = true
    const notes: string[] = []
    const note = (line: string) => void notes.push(line.replace(/ {2,}/, ': '))
    const published = await publish(
      async () => api,
      {
        dir: path,
        found,
        cwd,
        stateFolder,
        signal,
        ...options,
        checkScript: ({ source }) => mustBeInside(source),
        async confirm({ title }) {
          if (options.preview) return true
          decision = await questions.confirm(
            call,
            `Replace the live version of ${title} with the folder ${folder}?`,
            signal,
          )
          return decision === true
        },
      },
      {
        note,
        warn: note,
        target() {},
        progress: {
          hashing: (files) => news(`reading ${files} files`),
          uploading: (files) => news(`uploading ${files} files`),
          arrived: () => news('a file has arrived'),
          waiting: (reason) => news(reason),
          publishing: () => news('publishing'),
          resuming: () => news('going on with an interrupted deploy'),
          advance() {},
        },
      },
    )
    if (published) return { content: [{ type: 'text', text: JSON.stringify({ ...published.result, notes }) }] }
    return typeof decision === 'object' ? decision : refusal('The person said no, so nothing was changed.')
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const { message, code, hint, details } = error
    const body = { message, code, ...(details.length ? { details } : {}), ...(hint ? { next: hint } : {}) }
    return refusal(JSON.stringify({ error: body }))
  }
}

interface FolderArguments {
  folder: string
  game: string
  message?: string
  preview?: boolean
  restartRooms?: boolean
}

/** @throws CliError naming each argument that the schema refuses */
function checked(given: Record<string, unknown>): FolderArguments {
  const { properties, required } = DEPLOY_FOLDER.inputSchema
  const rules: Record<string, { type: string; minLength?: number; maxLength?: number }> = properties
  const problemOf = (name: string): string | null => {
    const rule = rules[name]
    const value = given[name]
    if (!rule) return `is not a known argument; there are ${Object.keys(rules).join(', ')}`
    if (typeof value !== rule.type) return value === undefined ? 'is required' : `must be a ${rule.type}`
    const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = rule
    if (typeof value !== 'string') return null
    if (value.length < minLength) return 'must not be empty'
    return value.length > maxLength ? `must have at most ${maxLength} characters` : null
  }
  const names = new Set([...required, ...Object.keys(given)])
  const details = [...names].flatMap((path) => {
    const message = problemOf(path)
    return message === null ? [] : [{ path, message }]
  })
  const [first] = details
  if (!first) return given as unknown as FolderArguments
  const message = `The arguments are not valid: ${first.path} ${first.message}.`
  throw new CliError(message, {
    code: 'invalid_request',
    details,
    hint: 'Correct the named arguments, then call again.',
  })
}

/** Whether a file or folder is in a folder, and also the one to which a symbolic link leads. */
async function isInside(path: string, folder: string): Promise<boolean> {
  const isIn = (inner: string, outer: string) => inner === outer || inner.startsWith(outer + sep)
  if (!isIn(path, folder)) return false
  // A folder that is not there is named by what reads it.
  const [inner, outer] = await Promise.all([realpath(path).catch(() => null), realpath(folder)])
  return inner === null || isIn(inner, outer)
}

const refusal = (text: string) => ({ isError: true, content: [{ type: 'text', text }] })
