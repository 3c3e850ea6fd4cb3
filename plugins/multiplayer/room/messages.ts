/** Messages of clients in protocol 1. */
export type ClientMessage =
  | { t: 'send'; type: string; data: unknown; to: 'others' | 'all' | 'host' | string[] }
  | { t: 'state'; set: Record<string, unknown>; del: string[]; if: number | null }
  | { t: 'presence'; data: unknown }
  | { t: 'ping'; id: unknown }
  | { t: 'kick' | 'host'; id: string }
  | { t: 'lock'; locked: boolean }

const LONGEST_NAME = 128
const MOST_NAMES = 256

/** Parses and checks a client's text frame. A string describes the error. */
export function parseMessage(text: string): ClientMessage | string {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return 'The message is not JSON.'
  }
  if (!isRecord(message)) return 'The message is not a JSON object.'
  switch (message.t) {
    case 'send':
      return parseSend(message)
    case 'state':
      return parseState(message)
    case 'presence':
      return { t: 'presence', data: message.data ?? null }
    case 'ping':
      return isScalar(message.id) ? { t: 'ping', id: message.id ?? null } : '`id` must be a number or a short text.'
    case 'kick':
    case 'host':
      return isName(message.id) ? { t: message.t, id: message.id } : '`id` must be the id of a player.'
    case 'lock':
      return typeof message.locked === 'boolean'
        ? { t: 'lock', locked: message.locked }
        : '`locked` must be true or false.'
    default:
      return 'The type `t` of the message is unknown.'
  }
}

function parseSend({ type, data, to }: Record<string, unknown>): ClientMessage | string {
  if (!isName(type)) return `\`type\` must be a text of 1 to ${LONGEST_NAME} characters.`
  if (to === undefined) return { t: 'send', type, data: data ?? null, to: 'others' }
  if (to === 'all' || to === 'host' || areNames(to)) return { t: 'send', type, data: data ?? null, to }
  return '`to` must be "all", "host" or an array of player ids.'
}

function parseState({ set = {}, del = [], if: expected = null }: Record<string, unknown>): ClientMessage | string {
  if (!isRecord(set) || !areNames(Object.keys(set))) return '`set` must be an object with keys of 1 to 128 characters.'
  if (!areNames(del)) return '`del` must be an array of keys.'
  if (Object.keys(set).length + del.length === 0) return 'A `state` message sets or deletes something.'
  if (expected !== null && !Number.isSafeInteger(expected)) return '`if` must be the number of a version.'
  return { t: 'state', set, del, if: expected as number | null }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= LONGEST_NAME

const areNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= MOST_NAMES && value.every(isName)

const isScalar = (value: unknown) =>
  value === undefined ||
  value === null ||
  typeof value === 'number' ||
  (typeof value === 'string' && value.length <= 64)
