import {
  Lifetime,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'

/** Texts up to this size are exchanged in one piece of memory, which is kept. */
const TEXT_BYTES = 64 * 1024
const ARGUMENTS = 2
const POINTER_BYTES = 4
const NUMBER_BYTES = 8
/** The position in a runtime of the bytes that it has allocated. */
const ALLOCATED = 6 * POINTER_BYTES

type Module = QuickJSWASMModule['module']
type FFI = ReturnType<QuickJSWASMModule['getFFI']>
type ValuePointer = Parameters<FFI['QTS_FreeValuePointer']>[1]
type TextPointer = Parameters<FFI['QTS_NewString']>[1]
type BufferPointer = Parameters<FFI['QTS_NewArrayBuffer']>[1]
type ArgumentsPointer = Parameters<FFI['QTS_Call']>[4]

/** Numbers that a room's script platform and the worker share. */
export interface SharedNumbers {
  /** An ArrayBuffer of QuickJS. */
  readonly buffer: QuickJSHandle
  /** Its position in the memory, as an index of `QuickJSMemory.numbers`. */
  readonly at: number
}

/**
 * The WebAssembly memory of QuickJS, and calls that use it directly. The handles and scopes of quickjs-emscripten cost
 * several times as much as a short call of a script. This uses members of that library that its types call private, so
 * the library's version is fixed, and the tests of room scripts run all of it.
 */
export class QuickJSMemory {
  readonly #module: Module
  readonly #ffi: FFI
  readonly #text: number
  readonly #arguments: number
  #bytes: Buffer = Buffer.alloc(0)
  #numbers: Float64Array = new Float64Array(0)

  constructor(quickjs: QuickJSWASMModule) {
    // biome-ignore lint/complexity/useLiteralKeys: TypeScript reads protected members only in this form
    this.#module = quickjs['module']
    this.#ffi = quickjs.getFFI()
    this.#text = this.#module._malloc(TEXT_BYTES)
    this.#arguments = this.#module._malloc(ARGUMENTS * POINTER_BYTES)
  }

  /** The whole memory as numbers. It is valid until a script runs, since memory grows. */
  get numbers(): Float64Array {
    this.#renew()
    return this.#numbers
  }

  /** Returns the bytes that a runtime has allocated (`allocation-sizes.ts`). */
  allocatedBytes(runtime: QuickJSRuntime): number {
    this.#renew()
    // biome-ignore lint/complexity/useLiteralKeys: TypeScript reads private members only in this form
    return this.#bytes.readUInt32LE(runtime['rt'].value + ALLOCATED)
  }

  /** Returns zeros that live as long as their buffer. */
  share(context: QuickJSContext, count: number): SharedNumbers {
    const pointer = this.#module._malloc(count * NUMBER_BYTES)
    const at = pointer / NUMBER_BYTES
    this.numbers.fill(0, at, at + count)
    const value = this.#ffi.QTS_NewArrayBuffer(pointerOf(context), pointer as BufferPointer, count * NUMBER_BYTES)
    return { buffer: this.#handle(context, value), at }
  }

  /**
   * Calls a function of QuickJS.
   *
   * @param bytes an ArrayBuffer, or null
   * @returns the text that it returns; a handle when it throws, which the caller disposes
   */
  call(context: QuickJSContext, fn: QuickJSHandle, text: string, bytes: QuickJSHandle | null): string | QuickJSHandle {
    const ffi = this.#ffi
    const ctx = pointerOf(context)
    const given = this.#newText(context, text)
    this.#bytes.writeUInt32LE(given, this.#arguments)
    if (bytes) this.#bytes.writeUInt32LE(bytes.value, this.#arguments + POINTER_BYTES)
    const count = bytes ? 2 : 1
    const result = ffi.QTS_Call(ctx, fn.value, ffi.QTS_GetUndefined(), count, this.#arguments as ArgumentsPointer)
    ffi.QTS_FreeValuePointer(ctx, given)
    const error = ffi.QTS_ResolveException(ctx, result)
    if (error) {
      ffi.QTS_FreeValuePointer(ctx, result)
      return this.#handle(context, error)
    }
    const returned = ffi.QTS_GetString(ctx, result)
    this.#renew()
    const answer = this.#bytes.toString('utf8', returned, this.#bytes.indexOf(0, returned))
    ffi.QTS_FreeCString(ctx, returned)
    ffi.QTS_FreeValuePointer(ctx, result)
    return answer
  }

  #newText(context: QuickJSContext, text: string): ValuePointer {
    // A character has at most three bytes in UTF-8.
    if (text.length * 3 >= TEXT_BYTES) return context.newString(text).value as ValuePointer
    this.#renew()
    const end = this.#text + this.#bytes.write(text, this.#text)
    this.#bytes[end] = 0
    return this.#ffi.QTS_NewString(pointerOf(context), this.#text as TextPointer)
  }

  #handle(context: QuickJSContext, value: ValuePointer): QuickJSHandle {
    const free = (pointer: ValuePointer) => this.#ffi.QTS_FreeValuePointer(pointerOf(context), pointer)
    return new Lifetime(value, undefined, free, context.runtime) as QuickJSHandle
  }

  #renew(): void {
    const { buffer } = this.#module.HEAPU8
    if (buffer === this.#bytes.buffer) return
    this.#bytes = Buffer.from(buffer)
    this.#numbers = new Float64Array(buffer)
  }
}

// biome-ignore lint/complexity/useLiteralKeys: TypeScript reads protected members only in this form
const pointerOf = (context: QuickJSContext) => context['ctx'].value
