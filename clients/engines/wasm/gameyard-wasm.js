// Gameyard for WebAssembly: C, Rust (Bevy), Zig or any other language, with or without emcc and wasm-bindgen.
// Everything crosses as numbers: a text is a pointer to UTF-8 and its length in bytes. gameyard.h declares it for C.
//
//   import * as gameyard from '@gameyard/engines/wasm' // Or the address of this file.
//   const { instance } = await WebAssembly.instantiateStreaming(fetch('game.wasm'), { gameyard })
//   gameyard.attach(instance.exports)
//
// The program exports its memory and three functions:
//   gameyard_alloc(size) -> pointer       room for a text or bytes, which the program frees when it likes
//   gameyard_receive(id, ok, json, length)                   an answer to the call `id`, or an event of the room `-id`
//   gameyard_receive_bytes(room, from, from_length, bytes, length)
// With wasm-bindgen, pass what `init()` returns to `attach`.

let program = null
let engine = null
const waiting = []
const decoder = new TextDecoder()
const encoder = new TextEncoder()

/**
 * Connects the program, once, after it was instantiated. Calls that it made before are done now.
 *
 * @param exports the exports of the instance
 * @param platform the address of the platform's script
 */
export async function attach(exports, platform = '/__service/engine.js') {
  program = exports
  try {
    const { connect } = await import(platform)
    engine = connect(receive, receiveBytes)
  } catch {
    engine = unavailable
  }
  for (const call of waiting.splice(0)) call()
}

/** Answers each call where there is no platform, so that the game goes on. */
const unavailable = new Proxy(
  {},
  {
    get: (_, name) => (id) => {
      const error = { code: 'no_platform', message: 'This page is not served by a Gameyard platform.' }
      if (ANSWERED.has(name)) setTimeout(receive, 0, id, false, JSON.stringify(error))
      return 0
    },
  },
)
const ANSWERED = new Set('session signOut join saveGet saveSet saveDelete scoreSubmit scoreTop scoreAround'.split(' '))

function receive(id, isFine, json) {
  program.gameyard_receive(id, isFine ? 1 : 0, ...copied(encoder.encode(json)))
}

function receiveBytes(room, from, bytes) {
  program.gameyard_receive_bytes?.(room, ...copied(encoder.encode(from)), ...copied(bytes))
}

/** Copies bytes to memory of the program. @returns pointer and length */
function copied(bytes) {
  const pointer = program.gameyard_alloc(bytes.length) >>> 0
  new Uint8Array(program.memory.buffer, pointer, bytes.length).set(bytes)
  return [pointer, bytes.length]
}

/** Reads bytes of the program. They are copied, since its memory may be shared, or move. */
const bytesAt = (pointer, length) => new Uint8Array(program.memory.buffer, pointer >>> 0, length >>> 0).slice()
const text = (pointer, length) => decoder.decode(bytesAt(pointer, length))

/** Does a call now, or once the platform is there. A program may call while it starts, before it is attached. */
function call(name, values) {
  if (!program) throw new Error('Call gameyard.attach(instance.exports) before the program calls the platform.')
  const read = values()
  if (engine) engine[name](...read)
  else waiting.push(() => engine[name](...read))
}

export const gameyard_session = (id) => call('session', () => [id])
export const gameyard_sign_in = () => call('signIn', () => [])
export const gameyard_sign_out = (id) => call('signOut', () => [id])

export const gameyard_join = (id, room, name, length) => call('join', () => [id, room, text(name, length)])
export const gameyard_leave = (room) => call('leave', () => [room])
export const gameyard_send = (room, type, typeLength, json, jsonLength, to, toLength) =>
  call('send', () => [room, text(type, typeLength), text(json, jsonLength), text(to, toLength)])
export const gameyard_send_bytes = (room, bytes, length) => call('sendBytes', () => [room, bytesAt(bytes, length)])
export const gameyard_set_state = (room, key, keyLength, json, jsonLength) =>
  call('setState', () => [room, text(key, keyLength), text(json, jsonLength)])
export const gameyard_delete_state = (room, key, length) => call('deleteState', () => [room, text(key, length)])
export const gameyard_presence = (room, json, length) => call('presence', () => [room, text(json, length)])
export const gameyard_now = (room) => engine?.now(room) ?? 0

export const gameyard_save_get = (id, key, length) => call('saveGet', () => [id, text(key, length)])
export const gameyard_save_set = (id, key, keyLength, json, jsonLength) =>
  call('saveSet', () => [id, text(key, keyLength), text(json, jsonLength)])
export const gameyard_save_delete = (id, key, length) => call('saveDelete', () => [id, text(key, length)])

export const gameyard_score_submit = (id, board, boardLength, score, json, jsonLength) =>
  call('scoreSubmit', () => [id, text(board, boardLength), score, text(json, jsonLength)])
export const gameyard_score_top = (id, board, length, limit) => call('scoreTop', () => [id, text(board, length), limit])
export const gameyard_score_around = (id, board, length, limit) =>
  call('scoreAround', () => [id, text(board, length), limit])
