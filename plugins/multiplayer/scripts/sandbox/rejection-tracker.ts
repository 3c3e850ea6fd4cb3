import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten-core'

const VALUE_BYTES = 8
const POINTER_BYTES = 4
/** The name under which `withTable` exports the table of functions. */
const TABLE = 'table'
const EXPORTS_SECTION = 7
const TABLE_KIND = 1
/** The position of `host_promise_rejection_tracker` in a runtime of QuickJS, and of `job_list`, in words. */
const RUNTIME = { tracker: 45, jobs: 47 }

/**
 * A WebAssembly module that exports the function that it imports, `(i32, i64, i64, i32, i32) => void`: the type that
 * QuickJS calls.
 */
// biome-ignore format: one section a line
const TRAMPOLINE = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
  1, 9, 1, 0x60, 5, 0x7f, 0x7e, 0x7e, 0x7f, 0x7f, 0,
  2, 7, 1, 1, 0x61, 1, 0x62, 0, 0,
  7, 5, 1, 1, 0x62, 0, 0,
])

type FFI = ReturnType<QuickJSWASMModule['getFFI']>
type Module = QuickJSWASMModule['module']
type ArgumentsPointer = Parameters<FFI['QTS_Call']>[4]
type Context = Parameters<FFI['QTS_Call']>[0]

/**
 * Tells scripts' platforms of promises that are rejected while nobody handles them, and of those that are handled later:
 * the host promise rejection tracker of QuickJS, which quickjs-emscripten does not offer. So it is written into the
 * runtime directly.
 */
export class RejectionTracker {
  readonly #module: Module
  readonly #ffi: FFI
  readonly #index: number
  readonly #memory: number
  readonly #watched = new Map<number, QuickJSHandle>()

  constructor(quickjs: QuickJSWASMModule, instance: WebAssembly.Instance) {
    // biome-ignore lint/complexity/useLiteralKeys: TypeScript reads protected members only in this form
    this.#module = quickjs['module']
    this.#ffi = quickjs.getFFI()
    const table = instance.exports[TABLE] as WebAssembly.Table
    const trampoline = new WebAssembly.Instance(new WebAssembly.Module(TRAMPOLINE), { a: { b: this.#track } })
    this.#index = table.grow(1, trampoline.exports.b)
    this.#memory = this.#module._malloc(2 * VALUE_BYTES + 3 * POINTER_BYTES)
  }

  /**
   * Calls a function of QuickJS with a promise, its reason, and whether it is handled now.
   *
   * @throws Error when QuickJS has another form than expected
   */
  watch(context: QuickJSContext, track: QuickJSHandle): void {
    // biome-ignore lint/complexity/useLiteralKeys: TypeScript reads private members only in this form
    const runtime = context.runtime['rt'].value
    const words = new Uint32Array(this.#module.HEAPU8.buffer, runtime)
    // The empty list of jobs points to itself.
    if (words[RUNTIME.jobs] !== runtime + RUNTIME.jobs * POINTER_BYTES) throw new Error('QuickJS has changed.')
    words[RUNTIME.tracker] = this.#index
    this.#watched.set(addressOf(context), track)
  }

  unwatch(context: QuickJSContext): void {
    this.#watched.delete(addressOf(context))
  }

  readonly #track = (address: number, promise: bigint, reason: bigint, isHandled: number) => {
    const track = this.#watched.get(address)
    if (!track) return
    const ffi = this.#ffi
    const at = this.#memory
    const given = at + 2 * VALUE_BYTES
    const memory = new DataView(this.#module.HEAPU8.buffer)
    memory.setBigInt64(at, promise, true)
    memory.setBigInt64(at + VALUE_BYTES, reason, true)
    memory.setUint32(given, at, true)
    memory.setUint32(given + POINTER_BYTES, at + VALUE_BYTES, true)
    memory.setUint32(given + 2 * POINTER_BYTES, isHandled ? ffi.QTS_GetTrue() : ffi.QTS_GetFalse(), true)
    const context = address as Context
    const result = ffi.QTS_Call(context, track.value, ffi.QTS_GetUndefined(), 3, given as ArgumentsPointer)
    // A limit was reached, which the script will meet again.
    const error = ffi.QTS_ResolveException(context, result)
    if (error) ffi.QTS_FreeValuePointer(context, error)
    ffi.QTS_FreeValuePointer(context, result)
  }
}

// biome-ignore lint/complexity/useLiteralKeys: TypeScript reads protected members only in this form
const addressOf = (context: QuickJSContext): number => context['ctx'].value

/** Returns a WebAssembly module that exports its table of functions, too. */
export function withTable(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  let at = 8
  const read = () => {
    let number = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] as number
      number |= (byte & 127) << shift
      if (byte < 128) return number
    }
  }
  for (;;) {
    const section = bytes[at++]
    const begin = at
    const end = read() + at
    if (section !== EXPORTS_SECTION) {
      at = end
      continue
    }
    const count = leb128(read() + 1)
    const added = [TABLE.length, ...Buffer.from(TABLE), TABLE_KIND, 0]
    const size = leb128(count.length + (end - at) + added.length)
    const before = [...size, ...count]
    return new Uint8Array(
      Buffer.concat([
        bytes.subarray(0, begin),
        Buffer.from(before),
        bytes.subarray(at, end),
        Buffer.from(added),
        bytes.subarray(end),
      ]),
    )
  }
}

/** Encodes a whole number as WebAssembly does. */
function leb128(number: number): number[] {
  const bytes: number[] = []
  for (let left = number; ; left >>>= 7) {
    if (left < 128) return [...bytes, left]
    bytes.push((left & 127) | 128)
  }
}
