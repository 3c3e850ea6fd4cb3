import { frameSession } from '../frame/hook.ts'
import { adopt, removeCopies } from './account.ts'
import type { Server } from './server.ts'
import type { Store } from './store.ts'

const ACCOUNT = 'account'
/** The longest wait of a call while the last question for the player has found no server. */
const OFFLINE_MS = 1000

/** Who plays on this device: the answer of the server, or, without a connection, the last player. */
export class CurrentPlayer {
  /** The signed-in player's id; empty for nobody. */
  account = ''
  /** False until the server has said for the first time who plays on this device. */
  isKnown = false
  /** Whether the server has confirmed `account` since the page was loaded or the connection was lost. */
  isConfirmed = false
  /** Whether the last question has found no server. */
  #isOffline = false
  #store: Store | null = null
  #confirming: Promise<void> | null = null
  readonly #server: Server
  readonly #changed: () => void

  /** @param changed is called when another player than before is signed in */
  constructor(server: Server, changed: () => void) {
    this.#server = server
    this.#changed = changed
  }

  /** Reads who was last on this device. */
  async restore(store: Store | null): Promise<void> {
    this.#store = store
    const account = await store?.read<string>(ACCOUNT).catch(() => undefined)
    this.account = account ?? ''
    this.isKnown = account !== undefined
  }

  /** Returns the player for what is saved now; null while that is not known. */
  get settled(): string | null {
    return this.isConfirmed || (this.#isOffline && this.isKnown) ? this.account : null
  }

  /** Another player may have signed in: the server is asked again. */
  doubt(): void {
    this.isConfirmed = false
  }

  /** There may be a connection again, so calls wait for the answer of the server. */
  online(): void {
    this.#isOffline = false
  }

  /**
   * Waits until it is known who plays. The saves of the last player are shown only without a connection: the next
   * player at a shared computer may have a slow one.
   */
  async settle(): Promise<void> {
    if (this.isConfirmed) return
    const confirmed = this.confirm()
    await (this.#isOffline
      ? Promise.race([confirmed, new Promise((resolve) => setTimeout(resolve, OFFLINE_MS))])
      : confirmed)
  }

  /** Asks the server who is signed in. Without a connection nothing changes. */
  confirm(): Promise<void> {
    if (this.isConfirmed) return Promise.resolve()
    this.#confirming ??= this.#ask().finally(() => {
      this.#confirming = null
    })
    return this.#confirming
  }

  async #ask(): Promise<void> {
    await frameSession()?.ready
    const player = await this.#server.player()
    this.#isOffline = player === null
    if (player === null) return
    const [former, wasKnown] = [this.account, this.isKnown]
    this.account = player
    this.isKnown = true
    this.isConfirmed = true
    if (former !== player) this.#changed()
    if (!this.#store) return
    try {
      if (former !== player || !wasKnown) await this.#store.write(ACCOUNT, player)
      if (former !== player && former !== '') await removeCopies(this.#store, former)
      if (player !== '') await adopt(this.#store, player)
    } catch {
      // A device without room: the server still takes what the game saves, and the next page tries again.
    }
  }
}
