/**
 * Leaderboards for browser games, without installing anything:
 *
 *   import { board } from '/__service/scores.js'
 *   const fastest = board('fastest')
 *   const { rank } = await fastest.submit(12345)
 *   const { entries } = await fastest.top(10)
 *
 * A score that is submitted without connection is sent when there is one again. The element `<gameyard-board
 * name="fastest" limit="10">` shows a board; importing this script defines it.
 */
import { CHANGED, ScoreClient } from './scores/client.ts'
import { BoardElement } from './scores/element.ts'
import type { Board } from './scores/types.ts'

export { formatScore } from './scores/format-score.ts'
export {
  type Board,
  type Entry,
  type ListOptions,
  type Period,
  ScoreError,
  type ScoreList,
  type Submitted,
} from './scores/types.ts'

const client = new ScoreClient()

/** Returns a board of this game by its id. */
export function board(name: string): Board {
  return {
    name,
    submit: (score, detail) => client.submit(name, score, detail),
    top: (limit, options) => client.list(name, { ...options, limit }),
    around: (limit, options) => client.list(name, { ...options, limit, around: 'me' }),
    more: (list, options) => client.more(name, list, options),
  }
}

if (globalThis.customElements && !customElements.get('gameyard-board')) {
  BoardElement.read = (name, options) => client.list(name, options)
  customElements.define('gameyard-board', BoardElement)
}

declare global {
  interface HTMLElementTagNameMap {
    'gameyard-board': BoardElement
  }
  interface WindowEventMap {
    [CHANGED]: CustomEvent<{ name: string }>
  }
}

export type { BoardElement }
