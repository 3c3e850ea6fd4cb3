import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete'

/** The members of a room in a browser, with their form (`clients/browser/multiplayer.ts`). */
export const ROOM = {
  id: 'the name of the room',
  me: 'you: { id, name, data }',
  capacity: 'players at most',
  state: 'shared: get(key), set(key, value)',
  players: 'everybody who is here',
  host: 'the player who leads',
  isHost: 'whether you lead',
  connected: 'whether the connection stands',
  now: '(): server time in ms',
  latency: 'ms to the server and back',
  send: "(type, data, to?): a message, to 'all' by default",
  sendBinary: '(bytes)',
  presence: '(data): what others see of you',
  kick: '(player)',
  lock: '(locked = true)',
  makeHost: '(player)',
  on: '(name, listener): returns a function that ends it',
  leave: '()',
} as const

/** The members of a room in a room script (`clients/room/index.ts`). */
export const SCRIPT_ROOM = {
  id: 'the name of the room',
  players: 'everybody who is here',
  state: 'shared: get, set, assign, delete',
  send: '(type, data?, to?)',
  sendBinary: '(bytes, to?)',
  kick: '(player, reason?)',
  lock: '(): lets nobody else in',
  unlock: '()',
  host: '(player): makes a player the host',
  now: '(): ms since 1970',
  random: '(): 0 to 1, seeded',
  after: '(ms, fn): once',
  every: '(ms, fn): again and again',
  log: '(...values): a line of the log',
  score: '(board, player, value, detail?)',
  saves: 'get(player, key), set(player, key, value)',
} as const

/** The members of `saves` (`clients/browser/saves.ts`). */
export const SAVES = {
  get: '(key): a promise of the value',
  set: '(key, value, { if }?)',
  delete: '(key)',
  keys: '(): a promise of all keys',
  version: '(key)',
  status: "'saved', 'saving' or 'offline'",
  on: "('conflict' | 'status', listener)",
} as const

/** The members of a board (`clients/browser/scores/types.ts`). */
export const BOARD = {
  name: 'its id',
  submit: '(score, detail?): a promise of the place',
  top: '(limit = 10)',
  around: '(limit = 10): the entries around yours',
  more: '(list): the entries after a list',
} as const

/** What begins a line of a game that uses the platform. */
const IMPORTS: Completion[] = [
  ['join', "import { join } from '/__service/multiplayer.js'", 'rooms'],
  ['saves', "import { saves } from '/__service/saves.js'", 'saves'],
  ['board', "import { board } from '/__service/scores.js'", 'leaderboards'],
  ['generate', "import { generate } from '/__service/ai.js'", 'AI'],
].map(([name, apply, detail]) => ({
  label: `import ${name}`,
  apply: apply as string,
  detail: detail as string,
  type: 'keyword',
}))

const listOf = (members: Record<string, string>): Completion[] =>
  Object.entries(members).map(([label, detail]) => ({
    label,
    detail,
    type: detail.startsWith('(') ? 'method' : 'property',
  }))

/**
 * Completes the members of `room`, `saves` and `board` by their names, and the imports of the platform.
 *
 * @param inRoomScript whether the file is the room script, where `room` is another
 */
export function platformCompletions(inRoomScript: () => boolean): CompletionSource {
  return (context: CompletionContext): CompletionResult | null => {
    const member = context.matchBefore(/\b(room|saves|board)\.\w*/)
    if (member) {
      const [name = ''] = member.text.split('.')
      const members = name === 'saves' ? SAVES : name === 'board' ? BOARD : inRoomScript() ? SCRIPT_ROOM : ROOM
      return { from: member.from + name.length + 1, options: listOf(members), validFor: /^\w*$/ }
    }
    const start = context.matchBefore(/^\s*imp\w*\s*\w*/)
    return start && !inRoomScript() ? { from: start.from + start.text.search(/\S/), options: IMPORTS } : null
  }
}
