import { defineEntity, p } from '@mikro-orm/core'
import type { Clock } from '../clock.ts'
import type { Events } from '../events.ts'
import { newId, randomText } from '../ids.ts'
import type { Database } from './database.ts'
import type { Keys } from './keys.ts'
import type { Migration } from './migrations.ts'
import { TtlCache } from './ttl-cache.ts'

/**
 * Groups of keys that rotate together: `signing` signs id tokens, `sessions` seals the sessions of players in games.
 */
export const KEY_GROUPS = ['signing', 'sessions'] as const
export type KeyGroup = (typeof KEY_GROUPS)[number]

declare module '../events.ts' {
  interface DomainEvents {
    'keys.rotated': { group: KeyGroup }
  }
}

export const keyRingMigrations: Migration[] = [
  {
    name: '2026_11_23_key_rotations',
    sqlite: [
      'create table `key_rotations` (`id` text not null primary key, `key_group` text not null, `salt` text not null, `immediate` integer not null, `rotated_at` datetime not null);',
    ],
    postgres: [
      'create table "key_rotations" ("id" varchar(30) not null, "key_group" varchar(40) not null, "salt" varchar(43) not null, "immediate" boolean not null, "rotated_at" timestamptz(3) not null, primary key ("id"));',
    ],
  },
]

const KeyRotationSchema = defineEntity({
  name: 'KeyRotationRow',
  tableName: 'key_rotations',
  properties: {
    id: p.string().length(30).primary(),
    keyGroup: p.string().length(40),
    salt: p.string().length(43),
    immediate: p.boolean(),
    rotatedAt: p.datetime(3),
  },
})
/** A row of a rotation. `KeyRings` reads and writes it by prepared statements. */
export class KeyRotationRow extends KeyRotationSchema.class {}
KeyRotationSchema.setClass(KeyRotationRow)

/** The start of a new generation of keys in a group. */
export interface KeyRotation {
  id: string
  /** Makes the keys differ from the previous ones: 32 bytes in base64url. */
  salt: string
  /** Whether the rotation invalidates everything that the previous keys signed or sealed. */
  immediate: boolean
  rotatedAt: Date
}

interface Row {
  id: string
  salt: string
  immediate: number
  rotated_at: number
}

/** Maximum delay until a process without a bus to the others learns of a rotation. */
const MAX_AGE_MS = 1000

/**
 * For this long all unknown ids of keys share one read of the rotations. Anybody can invent ids, and each must not cost a
 * query. The event of a rotation ends the time.
 */
const REFRESH_MS = 1000

/**
 * Keys that can be rotated (`gameyard keys rotate`).
 *
 * A rotation is a database row with a salt. The keys of a group are derived from the platform's secret and the salt of
 * the latest rotation. Neither a stolen secret nor a stolen backup alone therefore reveals later keys, and every node
 * learns of a rotation without a restart.
 */
export class KeyRings {
  readonly #db: Database
  readonly #clock: Clock
  readonly #keys: Keys
  readonly #events: Events
  readonly #rotations: TtlCache<KeyRotation[]>
  readonly #refreshes = new Map<KeyGroup, { at: number; rotations: Promise<KeyRotation[]> }>()

  constructor({ db, clock, keys, events }: { db: Database; clock: Clock; keys: Keys; events: Events }) {
    this.#db = db
    this.#clock = clock
    this.#keys = keys
    this.#events = events
    this.#rotations = new TtlCache(clock, { maxAgeMs: MAX_AGE_MS })
    events.on('keys.rotated', ({ group }) => {
      this.#rotations.drop(group)
      this.#refreshes.delete(group)
    })
  }

  /** Lists the rotations of a group, the oldest first. */
  async rotations(group: KeyGroup): Promise<KeyRotation[]> {
    return (await this.#rotations.get(group, () => this.#read(group))) ?? []
  }

  /**
   * Returns the keys of one purpose.
   *
   * @param group the group that the keys rotate with
   * @param purpose as for `Keys.derive`
   * @param lifeMs lifetime of the sealed values: the previous key stays valid for this long after its rotation
   */
  ring(group: KeyGroup, purpose: string, lifeMs: number): KeyRing {
    return new KeyRing(
      {
        rotations: () => this.rotations(group),
        again: () => this.#refresh(group),
        derive: (salt) => this.#keys.derive(purpose, salt),
        clock: this.#clock,
      },
      lifeMs,
    )
  }

  /** Whether an immediate rotation, as after a theft, has invalidated a key. Holders of dependent state check this. */
  async isEnded(group: KeyGroup, id: string): Promise<boolean> {
    const rotations = await this.rotations(group)
    const index = rotations.findIndex((rotation) => rotation.id === id)
    if (index < 0 && id !== '') return false
    return rotations.findLastIndex(({ immediate }) => immediate) > index
  }

  /**
   * Rotates the keys of a group.
   *
   * @param immediate true invalidates the previous keys at once, as for stolen keys; false keeps values sealed with
   *   them valid for their lifetime
   */
  async rotate(group: KeyGroup, { immediate }: { immediate: boolean }): Promise<void> {
    const now = this.#clock.now()
    await this.#db.execute(
      'insert into key_rotations (id, key_group, salt, immediate, rotated_at) values (?, ?, ?, ?, ?)',
      [newId('rot', now), group, randomText(32), immediate, now],
    )
    await this.#events.emit('keys.rotated', { group })
  }

  /** Reads the rotations of a group again, at most once in `REFRESH_MS`. */
  #refresh(group: KeyGroup): Promise<KeyRotation[]> {
    const now = this.#clock.now().getTime()
    const last = this.#refreshes.get(group)
    if (last && now < last.at + REFRESH_MS) return last.rotations
    const rotations = this.#read(group).then((rows) => {
      if (rows.length !== this.#rotations.peek(group)?.length) this.#rotations.drop(group)
      return rows
    })
    const refresh = { at: now, rotations }
    this.#refreshes.set(group, refresh)
    // The next caller tries again.
    rotations.catch(() => {
      if (this.#refreshes.get(group) === refresh) this.#refreshes.delete(group)
    })
    return rotations
  }

  async #read(group: KeyGroup): Promise<KeyRotation[]> {
    const rows = await this.#db.query<Row>(
      'select id, salt, immediate, rotated_at from key_rotations where key_group = ? order by rotated_at, id',
      [group],
    )
    return rows.map(({ id, salt, immediate, rotated_at }) => ({
      id,
      salt,
      immediate: Boolean(immediate),
      rotatedAt: new Date(rotated_at),
    }))
  }
}

/** The data and functions that a ring depends on. */
interface KeySource {
  rotations(): Promise<KeyRotation[]>
  /** Reads the rotations again, if that was not done just now. */
  again(): Promise<KeyRotation[]>
  derive(salt: string): Buffer
  clock: Clock
}

/** The keys of one purpose: the current key, and previous keys that are still valid. */
export class KeyRing {
  readonly #source: KeySource
  readonly #lifeMs: number
  readonly #derived = new Map<string, Buffer>()

  constructor(source: KeySource, lifeMs: number) {
    this.#source = source
    this.#lifeMs = lifeMs
  }

  /** Returns the key that seals now. Its id is stored with sealed values, and is empty before the first rotation. */
  async current(): Promise<{ id: string; key: Buffer }> {
    const latest = (await this.#source.rotations()).at(-1)
    return { id: latest?.id ?? '', key: this.#key(latest?.salt ?? '') }
  }

  /** Returns the key with this id; null when it does not exist or has expired. */
  async find(id: string): Promise<Buffer | null> {
    let rotations = await this.#source.rotations()
    // Another node may have just rotated the keys.
    if (id !== '' && !rotations.some((rotation) => rotation.id === id)) rotations = await this.#source.again()
    const index = id === '' ? -1 : rotations.findIndex((rotation) => rotation.id === id)
    if (id !== '' && index < 0) return null
    const later = rotations.slice(index + 1)
    const now = this.#source.clock.now().getTime()
    if (later.some(({ immediate }) => immediate)) return null
    if (later[0] && now > later[0].rotatedAt.getTime() + this.#lifeMs) return null
    return this.#key(rotations[index]?.salt ?? '')
  }

  #key(salt: string): Buffer {
    const key = this.#derived.get(salt) ?? this.#source.derive(salt)
    this.#derived.set(salt, key)
    return key
  }
}
