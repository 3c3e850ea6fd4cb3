import { Readable } from 'node:stream'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import type { BuildFile } from '../../../plugins/deploy/builds/build-file.ts'
import { examine } from '../../../plugins/deploy/builds/examine.ts'
import { hasSharedMemory } from '../../../plugins/deploy/builds/shared-memory.ts'
import {
  custom,
  FUNCTION_IMPORT,
  GLOBAL_IMPORT,
  imports,
  leb,
  memories,
  memoryImport,
  module,
  PLAIN,
  section,
  TABLE_IMPORT,
  THREADED,
  types,
} from './wasm.ts'

/** Yields bytes in chunks of a size. */
async function* inChunks(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

t.test('shared memory is found wherever a module has it, and however its bytes arrive', async (t) => {
  const cases: [string, boolean, Buffer][] = [
    ['an import', true, THREADED],
    ['an import without threads', false, PLAIN],
    [
      'an import after others',
      true,
      module(types(1), imports(FUNCTION_IMPORT, TABLE_IMPORT, GLOBAL_IMPORT, memoryImport(3))),
    ],
    ['others only', false, module(types(1), imports(TABLE_IMPORT, GLOBAL_IMPORT, FUNCTION_IMPORT))],
    ['a definition', true, module(types(300), memories(3))],
    ['a definition without threads', false, module(types(300), memories(1))],
    ['behind a custom section', true, module(custom(5000), types(1), custom(10), memories(3))],
    ['64-bit addresses', true, module(memories(7))],
    ['nothing', false, module()],
  ]
  for (const [what, shared, bytes] of cases) {
    // V8 is the judge of the bytes. It knows no 64-bit memory of this size.
    if (what !== '64-bit addresses') t.ok(WebAssembly.validate(new Uint8Array(bytes)), `${what} is a valid module`)
    for (const size of [1, 7, 65_536]) t.equal(await hasSharedMemory(inChunks(bytes, size)), shared, `${what}, ${size}`)
  }
})

t.test('bytes that are no module, and modules cut off anywhere, have none', async (t) => {
  const cases = [
    Buffer.alloc(0),
    Buffer.from('<!doctype html>'),
    module([5, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
    module(section(2, [...leb(2 ** 32), 0x7f])),
    module(section(2, [1, 1, 65, 1, 65, 9])),
    module([2, ...leb(2 ** 30)]),
    module([...Array(1200).fill(section(0, [1, 65]))].flat(), memories(3)),
    ...Array.from({ length: THREADED.length - 1 }, (_, end) => THREADED.subarray(0, end)),
  ]
  for (const bytes of cases) t.equal(await hasSharedMemory(inChunks(bytes, 64)), false)
})

t.test('what comes after the memories is not read', async (t) => {
  let read = 0
  const endless = async function* () {
    yield module(memories(1))
    for (;;) {
      read++
      yield Buffer.alloc(1024)
    }
  }
  t.equal(await hasSharedMemory(endless()), false)
  t.equal(read, 0)
})

const opened = (files: Record<string, Buffer>) => {
  const listed = Object.entries(files).map(([path, { length }]) => ({ path, size: length }))
  const open = async ({ path }: BuildFile, bytes: number) => Readable.from([(files[path] as Buffer).subarray(0, bytes)])
  return examine(listed, open)
}

t.test('modules are examined in every form in which engines publish them', async (t) => {
  const unityBrotli = Buffer.concat([
    Buffer.from([0x6b, 0x8d, 0x00]),
    Buffer.from('UnityWeb Compressed Content (brotli)'),
  ])
  for (const [path, bytes] of [
    ['game.wasm', THREADED],
    ['game.wasm.br', brotliCompressSync(THREADED)],
    ['Build/web.wasm.gz', gzipSync(THREADED)],
    ['Build/web.wasm.unityweb', gzipSync(THREADED)],
    ['Build/web.wasm.code.unityweb', THREADED],
    ['GAME.WASM', THREADED],
  ] as const) {
    t.match(await opened({ 'index.html': Buffer.from('x'), 'other.wasm': PLAIN, [path]: bytes }), {
      sharedMemory: path,
    })
  }
  for (const [path, bytes] of [
    ['game.wasm', PLAIN],
    ['game.wasm.br', brotliCompressSync(PLAIN)],
    ['broken.wasm.br', THREADED],
    ['broken.wasm.gz', gzipSync(THREADED).subarray(0, 15)],
    ['broken.wasm.unityweb', unityBrotli],
    ['game.bin', THREADED],
    ['empty.wasm', Buffer.alloc(0)],
  ] as const) {
    t.match(await opened({ [path]: bytes }), { sharedMemory: null }, path)
  }
})

t.test('a storage that fails is no build without threads', async (t) => {
  const open = async () =>
    new Readable({
      read() {
        this.destroy(new Error('The storage is away.'))
      },
    })
  await t.rejects(examine([{ path: 'a.wasm', size: 9 }], open), { message: 'The storage is away.' })
  await t.rejects(examine([{ path: 'a.wasm.gz', size: 9 }], open), { message: 'The storage is away.' })
})

t.test('many modules, and modules that grow without an end, are read up to a limit', async (t) => {
  const many = Array.from({ length: 500 }, (_, index) => ({ path: `${index}.wasm`, size: 100 }))
  let opens = 0
  await examine(many, async () => {
    opens++
    return Readable.from([PLAIN])
  })
  t.equal(opens, 50)
  const bomb = gzipSync(Buffer.concat([module([0, ...leb(2 ** 31)]), Buffer.alloc(80 * 1024 ** 2)]), { level: 1 })
  const files = ['a', 'b'].map((name) => ({ path: `${name}.wasm.gz`, size: bomb.length }))
  const asked: string[] = []
  await examine(files, async ({ path }) => {
    asked.push(path)
    return Readable.from([bomb])
  })
  t.same(asked, ['a.wasm.gz'], 'the budget is used up by the first')
})
