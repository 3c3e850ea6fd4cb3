/** Modules of WebAssembly, made section by section. */

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]

/** Returns a number in LEB128. */
export function leb(value: number): number[] {
  const bytes: number[] = []
  for (let left = value; ; ) {
    const byte = left % 128
    left = Math.floor(left / 128)
    bytes.push(left > 0 ? byte | 0x80 : byte)
    if (left === 0) return bytes
  }
}

const name = (text: string): number[] => [...leb(text.length), ...Buffer.from(text)]

export const section = (id: number, content: number[]): number[] => [id, ...leb(content.length), ...content]

/** Returns a vector: the number of its entries, and these. */
const vector = (entries: number[][]): number[] => [...leb(entries.length), ...entries.flat()]

/** The types `() -> ()`, as many as given. */
export const types = (count: number): number[] => section(1, vector(Array(count).fill([0x60, 0, 0])))

export const custom = (bytes: number): number[] => section(0, [...name('notes'), ...Array<number>(bytes).fill(7)])

export const imports = (...entries: number[][]): number[] =>
  section(2, vector(entries.map((entry) => [...name('env'), ...name('x'), ...entry])))

export const FUNCTION_IMPORT = [0, 0]
export const TABLE_IMPORT = [1, 0x70, 1, 1, 4]
export const GLOBAL_IMPORT = [3, 0x7f, 0]
/** @param flags 0 plain, 1 with a maximum, 3 shared with a maximum, 7 the same with 64-bit addresses */
export const memoryImport = (flags: number): number[] => [2, ...limits(flags)]
export const memories = (flags: number): number[] => section(5, vector([limits(flags)]))

const limits = (flags: number): number[] => [flags, ...leb(200), ...(flags & 1 ? leb(65_536) : [])]

export const module = (...sections: number[][]): Buffer => Buffer.from([...MAGIC, ...sections.flat()])

/** A module that imports shared memory, as compilers with threads make them. */
export const THREADED = module(types(2), imports(FUNCTION_IMPORT, memoryImport(3)))
/** The same without threads. */
export const PLAIN = module(types(2), imports(FUNCTION_IMPORT, memoryImport(1)))
