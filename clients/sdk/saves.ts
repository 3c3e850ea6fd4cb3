import type { CallOptions, Connection, RequestOptions } from './connection.ts'
import { NotFoundError } from './errors.ts'
import { unexpected } from './response-body.ts'
import type { Answer } from './types.ts'

/** The saves of a player in your game. The connection's token is the player's OAuth access token. */
export type SaveList = Answer<'/api/saves', 'get'>
export type SaveVersions = Answer<'/api/saves/{key}/versions', 'get'>

/** A change of a save. */
export interface WrittenSave {
  key: string
  version: number
  size: number
  updatedAt: string
}

/** The conditions of a change. When they do not hold, the error has the code `save_conflict`. */
export interface SaveConditions extends CallOptions {
  /** Writes over this version only; null: only if there is no save. */
  if?: number | null | undefined
}

/** Proxies rewrite entity tags and preconditions, and leave this header alone. */
const VERSION = 'service-save-version'

const at = (key: string) => `/api/saves/${encodeURIComponent(key)}`

/** Lists the player's saves, without their values. */
export const listSaves = (connection: Connection, options?: CallOptions): Promise<SaveList> =>
  connection.json('GET', '/api/saves', options)

/** Fetches a save and its version. @returns null when there is none */
export async function getSave(
  connection: Connection,
  key: string,
  options?: CallOptions,
): Promise<{ version: number; response: Response } | null> {
  try {
    const request = { ...options, headers: { accept: '*/*' } }
    return await connection.receive('GET', at(key), request, async (response) => {
      const { headers } = response
      const version = Number(headers.get(VERSION) ?? /\d+/.exec(headers.get('etag') ?? '')?.[0])
      if (Number.isNaN(version)) throw unexpected(response)
      return { version, response }
    })
  } catch (error) {
    if (error instanceof NotFoundError && error.code === 'no_such_save') return null
    throw error
  }
}

/**
 * Writes a save: a Blob or bytes as they are, anything else as JSON.
 *
 * @param options `if` makes it conditional. A write that is repeated after a lost response then ends as a conflict with
 *   its own version
 */
export function putSave(
  connection: Connection,
  key: string,
  value: unknown,
  options: SaveConditions = {},
): Promise<WrittenSave> {
  const isBytes = value instanceof Blob || value instanceof ArrayBuffer || ArrayBuffer.isView(value)
  const type = value instanceof Blob ? value.type || BYTES : isBytes ? BYTES : 'application/json'
  const body = isBytes ? value : JSON.stringify(value)
  return connection.json('PUT', at(key), {
    signal: options.signal,
    body,
    headers: { 'content-type': type, ...conditionsOf(options) },
  })
}

/** Deletes a save. Its versions can be restored for 30 days. */
export const deleteSave = (connection: Connection, key: string, options: SaveConditions = {}): Promise<void> =>
  connection.json('DELETE', at(key), { signal: options.signal, headers: conditionsOf(options) })

/** Lists the kept versions of a save, newest first. */
export const listSaveVersions = (connection: Connection, key: string, options?: CallOptions): Promise<SaveVersions> =>
  connection.json('GET', `${at(key)}/versions`, options)

/** Makes an earlier version the newest one. */
export const restoreSave = (
  connection: Connection,
  key: string,
  version: number,
  options?: CallOptions,
): Promise<WrittenSave> => connection.json('POST', `${at(key)}/restore`, { ...options, body: { version } })

const BYTES = 'application/octet-stream'

function conditionsOf({ if: version }: SaveConditions): NonNullable<RequestOptions['headers']> {
  if (version === undefined) return {}
  const precondition = version === null ? { 'if-none-match': '*' } : { 'if-match': `"${version}"` }
  return { ...precondition, [VERSION]: String(version ?? 0) }
}
