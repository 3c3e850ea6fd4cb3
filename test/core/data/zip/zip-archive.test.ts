import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Archive } from '../../../../core/data/zip/zip-archive.ts'
import { amount } from '../../../kit/extent.ts'
import { zip, zipOf } from '../../../plugins/deploy/zip-writer.ts'

async function opened(t: Test, bytes: Buffer): Promise<Archive> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-zip-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'archive.zip')
  writeFileSync(path, bytes)
  const archive = await Archive.open(path)
  t.teardown(() => archive.close())
  return archive
}

const isJunkFile = () => false
/** So many entries with long names fill several blocks of a directory. */
const MANY = amount(600, 2000)

t.test('an archive of too many entries is refused by the number at its end, before one is read', async (t) => {
  const unreadable = Buffer.alloc(5_000_000, 'x')
  for (const [says, count] of [
    [{ entries: 65_000 }, 65_000],
    [{ entries: 5_000_000_000, zip64: true }, 5_000_000_000],
  ] as const) {
    const archive = await opened(t, zip([], { ...says, directory: unreadable }))
    await t.rejects(archive.files({ most: 40_000, isJunkFile }), {
      code: 'payload_too_large',
      message: new RegExp(`^The archive has ${count} entries; at most 40000 are read, ignored ones included`),
    })
  }
})

/** Writes text in a code page of Windows, of which Node knows the other direction only. */
function encode(text: string, page: string): Buffer {
  const decoder = new TextDecoder(page)
  const known = new Map<string, number[]>()
  for (let lead = 0x81; lead < 0xff; lead++)
    for (let trail = 0x40; trail < 0xff; trail++) {
      const character = decoder.decode(Uint8Array.of(lead, trail))
      if (!known.has(character)) known.set(character, [lead, trail])
    }
  return Buffer.from(
    [...text].flatMap((letter) => (letter < '\x80' ? letter.charCodeAt(0) : (known.get(letter) ?? []))),
  )
}

t.test('names in the code page of a Windows without UTF-8 are read in it', async (t) => {
  const archives: Record<string, string[]> = {
    shift_jis: ['index.html', 'audio/戦闘.ogg', 'audio/村の音楽.ogg', 'img/タイトル画面.png', 'img/主人公_能力表.png'],
    gb18030: ['index.html', '音乐/地图一.ogg', '立绘/主角_微笑.png', '背景/学校天台.jpg'],
    big5: ['index.html', '音樂/地圖一.ogg', '背景/學校天台.jpg'],
  }
  for (const [page, names] of Object.entries(archives)) {
    const entries = names.map((name) => ({ name: encode(name, page), flags: 0, bytes: name }))
    const found = await (await opened(t, zip(entries))).files({ most: 100, isJunkFile })
    t.same(
      found.map(({ path }) => path),
      names,
      page,
    )
    t.same(
      found.map(({ guessed }) => guessed),
      names.map((name) => name !== 'index.html'),
      `${page}: they are guesses all the same`,
    )
  }
  const western = ['Größe.txt', 'Tür.txt', 'Übung.txt', 'Wüste.txt']
  const bytes: Record<string, number> = { ö: 0x94, ß: 0xe1, ü: 0x81, Ü: 0x9a }
  const dos = (name: string) => Buffer.from([...name].map((letter) => bytes[letter] ?? letter.charCodeAt(0)))
  const found = await (await opened(t, zip(western.map((name) => ({ name: dos(name), flags: 0 }))))).files({
    most: 100,
    isJunkFile,
  })
  t.same(
    found.map(({ path }) => path),
    western,
  )
})

t.test('a directory of many blocks is read whole, and every file behind it', async (t) => {
  const long = 'folder/'.repeat(20)
  const files = Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`${long}${i}.txt`, `the file ${i}`]))
  for (const zip64 of [false, true]) {
    const archive = await opened(
      t,
      zip(
        Object.entries(files).map(([name, bytes]) => ({ name, bytes })),
        { zip64 },
      ),
    )
    const found = await archive.files({ most: MANY, isJunkFile })
    t.same(
      found.map(({ path }) => path),
      Object.keys(files),
    )
    const texts = []
    for (const file of found) texts.push(Buffer.concat(await archive.read(file).toArray()).toString())
    t.same(texts, Object.values(files))
  }
})

t.test('small files are read in one piece, in any order, as a stream reads them', async (t) => {
  const noise = Buffer.from(Array.from({ length: 700_000 }, (_, index) => (index * index) % 251))
  const entries = [
    { name: 'empty', bytes: '' },
    { name: 'empty and stored', bytes: '', method: 0 },
    { name: 'stored', bytes: noise, method: 0 },
    { name: 'deflated', bytes: noise },
    { name: 'of one letter', bytes: Buffer.alloc(1024 ** 2, 'x') },
    { name: 'with more behind', bytes: 'x', raw: Buffer.concat([deflateRawSync('x'), Buffer.alloc(300_000)]) },
    { name: 'at the end', bytes: 'x' },
    { name: 'large', bytes: Buffer.alloc(1024 ** 2 + 1, 'x') },
  ]
  const archive = await opened(t, zip(entries))
  const files = await archive.files({ most: 10, isJunkFile })
  const small = files.filter((file) => archive.isSmall(file))
  t.same(
    small.map(({ path }) => path),
    entries.slice(0, -1).map(({ name }) => name),
  )
  for (const file of [...small, ...small.toReversed()]) {
    const whole = Buffer.concat(await archive.read(file).toArray())
    t.ok(whole.equals(await archive.readSmall(file)), file.path)
  }
})

t.test('what ends in the middle is no archive', async (t) => {
  const whole = zipOf({ 'a.txt': 'a' })
  for (const length of [0, 10, whole.length - 1]) {
    await t.rejects(opened(t, whole.subarray(0, length)), { code: 'invalid_request' }, `${length} bytes`)
  }
  await t.rejects((await opened(t, zip([], { entries: 3 }))).files({ most: 10, isJunkFile }), {
    code: 'invalid_request',
  })
})
