import type { FastifyInstance } from 'fastify'
import { InvalidRequest } from '../../core/errors.ts'
import { NoSuchSave, SaveNotJson } from './errors.ts'
import type { SaveOwner } from './save-rows.ts'
import { KEY_PATTERN, type SaveLimits, type WrittenSave } from './schemas.ts'

/** The part of `Saves` that this needs. */
interface SaveStore {
  find(owner: SaveOwner, key: string): Promise<{ read(): Promise<Buffer> }>
  put(
    owner: SaveOwner,
    key: string,
    value: { bytes: Buffer; contentType: string },
  ): Promise<{ created: boolean; save: WrittenSave }>
}

const KEY = new RegExp(KEY_PATTERN)
const MINUTE_MS = 60_000

/**
 * The saves of a game's players, for room scripts of the game. Values are JSON.
 *
 * The limits of a player's saves hold, and so do the rates of `limits`: for each player and game, counted apart from
 * what the player's own browser does.
 */
export class RoomSaves {
  readonly #saves: SaveStore
  readonly #limits: SaveLimits
  readonly #rateLimiter: FastifyInstance['rateLimiter']

  constructor(saves: SaveStore, limits: SaveLimits, { rateLimiter }: Pick<FastifyInstance, 'rateLimiter'>) {
    this.#saves = saves
    this.#limits = limits
    this.#rateLimiter = rateLimiter
  }

  /**
   * Returns the value of a save; undefined when there is none.
   *
   * @throws SaveNotJson when the player's browser saved something else
   * @throws InvalidRequest for a wrong key; RateLimited, StorageUnavailable
   */
  async get(owner: SaveOwner, key: string): Promise<unknown> {
    await this.#admit('read', owner, key, this.#limits.saveReadsPerMinute)
    const text = await this.#textOf(owner, key)
    if (text === undefined) return undefined
    try {
      return JSON.parse(text)
    } catch {
      throw new SaveNotJson(key)
    }
  }

  /**
   * Stores a value, whatever the save had before: it stays as an earlier version. It is durable when this resolves.
   *
   * @param value any JSON value
   * @throws InvalidRequest for a wrong key, and for a value that JSON cannot express
   * @throws RateLimited, and as `Saves.put`
   */
  async set(owner: SaveOwner, key: string, value: unknown): Promise<WrittenSave> {
    await this.#admit('write', owner, key, this.#limits.saveWritesPerMinute)
    const bytes = Buffer.from(jsonOf(value))
    const { save } = await this.#saves.put(owner, key, { bytes, contentType: 'application/json' })
    return save
  }

  async #admit(kind: 'read' | 'write', { gameId, playerId }: SaveOwner, key: string, most: number): Promise<void> {
    if (typeof key !== 'string' || !KEY.test(key)) {
      throw new InvalidRequest('The name of a save is 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-".')
    }
    await this.#rateLimiter.take(`saves/room/${kind}/${gameId}/${playerId}`, most, MINUTE_MS)
  }

  async #textOf(owner: SaveOwner, key: string): Promise<string | undefined> {
    try {
      return (await (await this.#saves.find(owner, key)).read()).toString()
    } catch (error) {
      if (error instanceof NoSuchSave) return undefined
      throw error
    }
  }
}

/** @throws InvalidRequest */
function jsonOf(value: unknown): string {
  try {
    const text = JSON.stringify(value) as string | undefined
    if (text !== undefined) return text
  } catch {
    // A cycle, or a bigint: it is refused like any other value without a JSON text.
  }
  throw new InvalidRequest('A room script saves a JSON value.')
}
