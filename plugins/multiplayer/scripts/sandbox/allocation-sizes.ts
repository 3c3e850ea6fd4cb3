import type { QuickJSRuntime, QuickJSWASMModule } from 'quickjs-emscripten-core'

/**
 * A WebAssembly module that exports what QuickJS calls for the size of an allocation, `(pointer: i32) => i32`. It reads
 * the header of the allocator: the size of the whole chunk is in the four bytes before the pointer, with flags in its
 * lowest three bits, and four of its bytes are the allocator's.
 */
// biome-ignore format: one section a line
const PROGRAM = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
  1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f,
  2, 8, 1, 1, 0x61, 1, 0x62, 2, 0, 0,
  3, 2, 1, 0,
  7, 5, 1, 1, 0x63, 0, 0,
  10, 18, 1, 16, 0, 0x20, 0, 0x41, 4, 0x6b, 0x28, 2, 0, 0x41, 0x78, 0x71, 0x41, 4, 0x6b, 0x0b,
])
/** The allocator's functions, with which a runtime of QuickJS begins. The last one returns the size of an allocation. */
const FUNCTIONS = 5
const WORD_BYTES = 4

/**
 * Makes the runtimes that are created from now on count the sizes of what they allocate. QuickJS is compiled for
 * WebAssembly without a function for them: each allocation counts as eight bytes, and the limit of memory bounds only
 * their number. So the function is added to the table from which QuickJS takes those of the allocator.
 *
 * @throws Error when QuickJS has another form than expected
 */
export function countAllocations(
  quickjs: QuickJSWASMModule,
  { imports, exports }: { imports: WebAssembly.Imports; exports: WebAssembly.Exports },
): void {
  const table = Object.values(exports).find((value) => value instanceof WebAssembly.Table)
  const memory = [exports, ...Object.values(imports)]
    .flatMap((values) => Object.values(values as object))
    .find((value) => value instanceof WebAssembly.Memory)
  if (!memory || !table) throw new Error('QuickJS has changed.')
  const added = new WebAssembly.Instance(new WebAssembly.Module(PROGRAM), { a: { b: memory } })
  const runtime = quickjs.newRuntime()
  const at = addressOf(runtime) / WORD_BYTES
  const functions = wordsOf(quickjs).slice(at, at + FUNCTIONS)
  runtime.dispose()
  // The memory of the runtime is free now, and holds no copy that is used.
  const words = wordsOf(quickjs)
  const copies: number[] = []
  for (
    let start = words.indexOf(functions[0] as number);
    start >= 0;
    start = words.indexOf(functions[0] as number, start + 1)
  ) {
    if (start !== at && functions.every((value, offset) => words[start + offset] === value)) copies.push(start)
  }
  const [constant] = copies
  if (constant === undefined || copies.length > 1) throw new Error('QuickJS has changed.')
  words[constant + FUNCTIONS - 1] = table.grow(1, added.exports.c)
}

// biome-ignore lint/complexity/useLiteralKeys: TypeScript reads private members only in this form
const addressOf = (runtime: QuickJSRuntime): number => runtime['rt'].value
// biome-ignore lint/complexity/useLiteralKeys: TypeScript reads protected members only in this form
const wordsOf = (quickjs: QuickJSWASMModule): Uint32Array => new Uint32Array(quickjs['module'].HEAPU8.buffer)
