import type { Frame, RoomPlayer } from './frames.ts'
import { type Account, Budget, type Link, Member } from './member.ts'
import type { Roster, SavedMember } from './snapshot.ts'

/** A place for a player whom the room's script has admitted, until the player's socket is open. */
export interface Reservation {
  readonly token: string
  readonly account: Account
  readonly player: RoomPlayer
  /** In ms since 1970; Infinity while the script is asked. */
  until: number
  /** What the script has sent to the player meanwhile. */
  readonly frames: Frame[]
}

/** What distinguishes a player in a room. */
export type Place = Pick<Member, 'id' | 'index' | 'joinedAt'>

/** The time for which a place is kept for a player whose socket is about to open. */
const RESERVED_MS = 5000
/** The most frames kept for a player who is about to join. */
const MOST_FRAMES = 64

/** The players of a room, those about to join, and those who may not. */
export class Members {
  /** The members in the order of joining. The first is the next host. */
  readonly byId = new Map<string, Member>()
  /** The number of moves to other nodes. */
  moves = 0
  readonly #rate: { messagesPerSecond: number; messageBurst: number }
  readonly #reserved = new Map<string, Reservation>()
  readonly #banned = new Set<string>()
  #ids = 0

  constructor(rate: { messagesPerSecond: number; messageBurst: number }) {
    this.#rate = rate
  }

  /** The number of places that are taken. */
  get taken(): number {
    return this.byId.size + this.#reserved.size
  }

  /** The players in the order of joining, for lists. */
  get people(): { name: string; imageUrl: string | null; away: boolean }[] {
    return Array.from(this.byId.values(), ({ account, link }) => ({
      name: account.name,
      imageUrl: account.imageUrl,
      away: link === null,
    }))
  }

  /**
   * Returns the place that an account may take back without a token: after a crash, a reload, or on another device. A
   * place that is away comes first.
   */
  seatOf({ sub, guest }: Pick<Account, 'sub' | 'guest'>): Member | null {
    if (guest) return null
    let seat: Member | null = null
    for (const member of this.byId.values()) {
      if (member.account.sub === sub && (!seat || (seat.link && !member.link))) seat = member
    }
    return seat
  }

  /** The first player who is connected, or else the first. */
  get nextHost(): Member | undefined {
    const members = [...this.byId.values()]
    return members.find(({ link }) => link) ?? members[0]
  }

  /**
   * Whether all players have closed their pages. Who of them comes back finds the room as it was; to others it is a former
   * room.
   */
  get isAbandoned(): boolean {
    for (const { link, hasUnloaded } of this.byId.values()) if (link || !hasUnloaded) return false
    return this.#reserved.size === 0
  }

  has(sub: string): boolean {
    for (const { account } of this.byId.values()) if (account.sub === sub) return true
    return false
  }

  /** Sets the name and picture of an account. @returns the players of this account who had others */
  show({ sub, name, imageUrl }: Omit<Account, 'guest'>): Member[] {
    const differs = ({ account: its }: Member) => its.sub === sub && (its.name !== name || its.imageUrl !== imageUrl)
    const changed = [...this.byId.values()].filter(differs)
    for (const member of changed) member.account = { ...member.account, name, imageUrl }
    return changed
  }

  /** The players as others see them. */
  get players(): RoomPlayer[] {
    return Array.from(this.byId.values(), ({ player }) => player)
  }

  /** The players, and those about to join. */
  get expected(): RoomPlayer[] {
    return [...this.players, ...this.reservations.map(({ player }) => player)]
  }

  get reservations(): Reservation[] {
    return [...this.#reserved.values()]
  }

  /** The accounts of the players, also of those about to join, by the players' ids. */
  get accounts(): ReadonlyMap<string, Account> {
    const accounts = new Map(this.reservations.map(({ player, account }) => [player.id, account]))
    for (const { id, account } of this.byId.values()) accounts.set(id, account)
    return accounts
  }

  /** Returns a place with a new id and the smallest free index. */
  newPlace(joinedAt: Date): Place {
    const taken = new Set(Array.from(this.byId.values(), ({ index }) => index))
    for (const { player } of this.#reserved.values()) taken.add(player.index)
    let index = 0
    while (taken.has(index)) index++
    return { id: `p${(++this.#ids).toString(36)}`, index, joinedAt }
  }

  add(
    fields: Place & Pick<Member, 'account' | 'resumeToken' | 'link'> & { data?: unknown; taken?: number | undefined },
    now: number,
  ): Member {
    const budget = new Budget(this.#rate.messagesPerSecond, this.#rate.messageBurst, now)
    const member = new Member({ ...fields, budget })
    this.byId.set(member.id, member)
    return member
  }

  /** Returns the player of a resume token if it belongs to this account. A guest is identified only by the token. */
  resumable(token: string, account: Pick<Account, 'sub' | 'guest'>): Member | null {
    for (const member of this.byId.values()) {
      if (member.resumeToken === token) return isSame(member.account, account) ? member : null
    }
    return null
  }

  ban(sub: string): void {
    this.#banned.add(sub)
  }

  isBanned(sub: string): boolean {
    return this.#banned.has(sub)
  }

  reserve(account: Account, token: string, joinedAt: Date): Reservation {
    const { sub, name, imageUrl } = account
    const { id, index } = this.newPlace(joinedAt)
    const player = { id, index, sub, name, imageUrl, data: null, joinedAt: joinedAt.toISOString() }
    const reservation = { token, account, player, until: Infinity, frames: [] }
    this.#reserved.set(token, reservation)
    return reservation
  }

  /** Keeps a place for a while, since the script has admitted the player. @returns whether it is still there */
  confirm(reservation: Reservation, now: number): boolean {
    reservation.until = now + RESERVED_MS
    return this.#reserved.has(reservation.token)
  }

  /** @returns whether the place was still kept */
  release({ token }: Reservation): boolean {
    return this.#reserved.delete(token)
  }

  /** Takes a kept place of this account. */
  claim(token: string, account: Account): Reservation | null {
    const found = this.#reserved.get(token)
    if (!found || !isSame(found.account, account)) return null
    this.#reserved.delete(token)
    return found
  }

  /** Keeps a frame for players about to join. @param ids null for all of them */
  keep(ids: string[] | null, frame: Frame): void {
    for (const { player, frames } of this.#reserved.values()) {
      if ((ids === null || ids.includes(player.id)) && frames.length < MOST_FRAMES) frames.push(frame)
    }
  }

  /** Returns what another node needs, beside the room's rules. @param numbers of the players' last frames, if known */
  save(numbers: ReadonlyMap<string, number> | null): Omit<Roster, 'host' | 'locked'> {
    const members = Array.from(this.byId.values(), ({ account, id, index, joinedAt, resumeToken, data, taken }) => ({
      account,
      id,
      index,
      resumeToken,
      data,
      taken,
      joinedAt: joinedAt.toISOString(),
      ...(numbers ? { sequence: numbers.get(id) as number } : {}),
    }))
    return { banned: [...this.#banned], ids: this.#ids, moves: this.moves, members }
  }

  /** Restores what another node saved. @param add adds a saved player, who is away */
  restore(roster: Roster, add: (fields: Place & SavedPlayer & { link: Link | null }) => void): void {
    this.#ids = roster.ids
    this.moves = (roster.moves ?? 0) + 1
    for (const sub of roster.banned) this.#banned.add(sub)
    for (const saved of roster.members) add({ ...saved, joinedAt: new Date(saved.joinedAt), link: null })
  }
}

type SavedPlayer = Omit<SavedMember, 'joinedAt'>

const isSame = (one: Pick<Account, 'sub' | 'guest'>, other: Pick<Account, 'sub' | 'guest'>): boolean =>
  one.sub === other.sub || (one.guest && other.guest)
