import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Loaded, loadedByPage, loadedByStyles, withoutComments } from './addresses.ts'
import type { BuildFile, OpenFile } from './build-file.ts'
import { decode } from './decode.ts'
import { type Engine, recogniseEngine, TELLING_DATA } from './engines.ts'
import { findSharedMemory } from './find-shared-memory.ts'
import { type Note, notesByName } from './notes.ts'
import { baseOfPage, References, siteAddress } from './references.ts'

/** What a build contains, as stored with its deploy. */
export interface Build {
  /** The path of a WebAssembly module that imports or defines shared memory; null when there is none. */
  sharedMemory: string | null
  engine: Engine | null
  notes: Note[]
}

/** The maximum number of texts of one kind that are read, those of the upper folders first, and their bytes together. */
const MOST_TEXTS = 24
const TEXT_BYTES = 4 * 1024 ** 2
const PAGE_BYTES = 1024 ** 2
/** The bytes that are read of a data file. */
const HEAD_BYTES = 16 * 1024
const MOST_HEADS = 4
/** The length of a text that is searched before other work gets a turn. */
const SLICE = 64 * 1024

/** The number of addresses that are looked up before other work gets a turn. */
const ADDRESSES_IN_A_TURN = 500

const SCRIPT = /\.m?js$/i
const PAGE = /\.html?$/i
const STYLES = /\.css$/i
const DOCUMENT = /<(?:!doctype|html)\b/i
/** Pages and style sheets of others, which the game does not load. */
const UNLOADED = /(?:^|\/)(?:node_modules|__MACOSX)\//
/** Texts that share memory without a WebAssembly module of their own. */
const SHARES_MEMORY = /\bnew\s+SharedArrayBuffer\s*\(/

/**
 * Examines a build: what made it, whether it needs shared memory, and what will not work. It reads the page, some
 * scripts, and the beginnings of other files.
 */
export async function examine<File extends BuildFile>(files: readonly File[], open: OpenFile<File>): Promise<Build> {
  const read = async (file: File, bytes: number) =>
    file.size === 0 ? Buffer.alloc(0) : head(file.path, bytes, await open(file, bytes))
  const sharedMemory = await findSharedMemory(files, open)
  const paths = files.map(({ path }) => path)
  const index = files.find(({ path }) => path === 'index.html')
  const page = index ? withoutComments(textOf(await read(index, PAGE_BYTES))) : ''
  // Each look at all paths of a large build takes a turn of the event loop.
  await nextTurn()
  const references = new References(paths)
  await nextTurn()
  const judge = async (path: string, base: string, loaded: Iterable<Loaded>) => {
    let count = 0
    for (const one of loaded) {
      references.add(path, base, one)
      if (++count % ADDRESSES_IN_A_TURN === 0) await nextTurn()
    }
    await nextTurn()
  }
  await judge('index.html', baseOfPage('index.html', page), loadedByPage(page))
  for await (const [path, text] of texts(files, PAGE, read)) {
    const html = withoutComments(text)
    // A piece of a page is inserted into another, whose address counts.
    if (path !== 'index.html' && DOCUMENT.test(html)) await judge(path, baseOfPage(path, html), loadedByPage(html))
  }
  for await (const [path, text] of texts(files, STYLES, read))
    await judge(path, siteAddress(path), loadedByStyles(text))
  const scripts = new Map<string, string>()
  for await (const [path, text] of texts(files, SCRIPT, read)) scripts.set(path, text)
  for (const [path, text] of [['index.html', page] as const, ...scripts]) {
    for (let at = 0; at < text.length; at += SLICE) {
      const part = text.slice(at, at + SLICE)
      references.addScript(path, part)
      await nextTurn()
    }
  }
  const heads = new Map<string, Uint8Array>()
  for (const file of files.filter(({ path }) => TELLING_DATA.test(path)).slice(0, MOST_HEADS))
    heads.set(file.path, await read(file, HEAD_BYTES))
  await nextTurn()
  const engine = recogniseEngine({ paths, page, scripts, heads })
  await nextTurn()
  const notes = [...notesByName(files), ...references.notes, ...notesOfMemory(sharedMemory, scripts, references.hosts)]
  return { sharedMemory, engine, notes }
}

function notesOfMemory(sharedMemory: string | null, scripts: ReadonlyMap<string, string>, hosts: string[]): Note[] {
  if (sharedMemory !== null && hosts.length > 0) {
    const message = `index.html loads files from ${hosts.slice(0, 3).join(', ')}. In an isolated game they load only if that server allows it (CORP), or with the attribute crossorigin (CORS).`
    return [{ level: 'warning', code: 'other_hosts', path: 'index.html', message }]
  }
  const script = sharedMemory === null && [...scripts].find(([, text]) => SHARES_MEMORY.test(text))
  if (!script) return []
  const message = `${script[0]} uses SharedArrayBuffer, which only an isolated game has. If the game needs it: gameyard games update --isolation on.`
  return [{ level: 'warning', code: 'shared_memory_in_script', path: script[0], message }]
}

/** Yields the beginnings of the files of one kind. */
async function* texts<File extends BuildFile>(
  files: readonly File[],
  kind: RegExp,
  read: (file: File, bytes: number) => Promise<Uint8Array>,
): AsyncGenerator<[path: string, text: string]> {
  let left = TEXT_BYTES
  const some = shallow(files.filter(({ path }) => kind.test(path) && (kind === SCRIPT || !UNLOADED.test(path))))
  for (const file of some.slice(0, MOST_TEXTS)) {
    if (left <= 0) return
    const text = textOf(await read(file, Math.min(left, kind === SCRIPT ? left : PAGE_BYTES)))
    left -= text.length
    yield [file.path, text]
  }
}

/** Returns files by the depth of their folders, and small ones first. */
const shallow = <File extends BuildFile>(files: File[]): File[] =>
  files.sort((a, b) => a.path.split('/').length - b.path.split('/').length || a.size - b.size)

/** Reads the beginning of a file, decompressed. A file whose compression is broken is read as far as it goes. */
async function head(path: string, bytes: number, stored: Readable): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of await decode(path, stored)) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= bytes) break
    }
  } catch (error) {
    if (stored.errored) throw error
  } finally {
    stored.destroy()
  }
  return Buffer.concat(chunks).subarray(0, bytes)
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
