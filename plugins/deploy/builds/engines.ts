/** What a build was made with. */
export interface Engine {
  name: string
  /** Null when the build does not tell it. */
  version: string | null
}

/** What the recognition of an engine sees: the paths of a build, and the texts and bytes that were read of it. */
export interface Evidence {
  paths: readonly string[]
  /** The text of `index.html`. */
  page: string
  /** The texts of scripts by path. */
  scripts: ReadonlyMap<string, string>
  /** The first bytes of data files, decompressed, by path. */
  heads: ReadonlyMap<string, Uint8Array>
}

type Recognise = (evidence: Evidence) => Engine | null

/** Names the engine of a build by what is in it; null for none that is known. */
export function recogniseEngine(evidence: Evidence): Engine | null {
  for (const recognise of ENGINES) {
    const engine = recognise(evidence)
    if (engine) return engine
  }
  return null
}

/** The data files whose first bytes tell a version. */
export const TELLING_DATA = /\.pck$|\.data(?:\.(?:br|gz|unityweb))?$/i

const unity: Recognise = ({ paths, page, heads }) => {
  const loads = /\bcreateUnityInstance\s*\(|\bUnityLoader\.instantiate\s*\(/.test(page)
  const isBuild = has(paths, /\.loader\.js$/) && has(paths, /\.framework\.js(?:\.(?:br|gz|unityweb))?$/)
  if (!loads && !isBuild) return null
  for (const [path, head] of heads) {
    const [, version] = /\bUnityFS\0[\s\S]{4,24}?(\d{1,4}\.\d+\.\d+[abfp]\d+)\0/.exec(latin1(head)) ?? []
    if (version && /\.data/i.test(path)) return { name: 'Unity', version }
  }
  return { name: 'Unity', version: null }
}

const godot: Recognise = ({ paths, page, heads }) => {
  const packs = [...heads].filter(([path]) => /\.pck$/i.test(path)).map(([, head]) => versionOfPack(head))
  const version = packs.find((one) => one !== null) ?? null
  if (/\bGODOT_CONFIG\b/.test(page)) return { name: 'Godot', version }
  return version !== null && has(paths, /\.wasm(?:\.(?:br|gz))?$/) ? { name: 'Godot', version } : null
}

/** A pack begins with `GDPC`, its format, and the engine's major, minor and patch version as 32-bit numbers. */
function versionOfPack(head: Uint8Array): string | null {
  if (head.length < 20 || latin1(head.subarray(0, 4)) !== 'GDPC') return null
  const view = new DataView(head.buffer, head.byteOffset)
  return [8, 12, 16].map((at) => view.getUint32(at, true)).join('.')
}

const rpgMaker: Recognise = ({ paths, scripts }) => {
  for (const [core, name] of [
    ['rmmz_core.js', 'RPG Maker MZ'],
    ['rpg_core.js', 'RPG Maker MV'],
  ] as const) {
    const path = paths.find((one) => one === core || one.endsWith(`/${core}`))
    if (path === undefined) continue
    const version = /_core\.js v(\d+(?:\.\d+)+)/.exec(scripts.get(path)?.slice(0, 1000) ?? '')?.[1]
    return { name, version: version ?? null }
  }
  return null
}

const construct: Recognise = ({ paths, page }) => {
  if (has(paths, /(?:^|\/)c3runtime\.js$/)) return { name: 'Construct', version: '3' }
  if (has(paths, /(?:^|\/)c2runtime\.js$/)) return { name: 'Construct', version: '2' }
  return /<meta[^>]{1,100}content=["'](?:Scirra )?Construct/i.test(page) ? { name: 'Construct', version: null } : null
}

const gameMaker: Recognise = ({ paths, page }) => {
  const isHtml5 = has(paths, /(?:^|\/)html5game\/[^/]+\.js$/) && /html5game\/|GameMaker_Init/.test(page)
  const isWasm = has(paths, /(?:^|\/)runner\.wasm$/) && has(paths, /(?:^|\/)(?:runner\.data|game\.unx)$/)
  return isHtml5 || isWasm ? { name: 'GameMaker', version: null } : null
}

const playCanvas: Recognise = ({ paths, scripts }) => {
  const version = inScripts(scripts, /PlayCanvas Engine v(\d+\.\d+\.\d+)/)
  const isExport = has(paths, /(?:^|\/)__game-scripts\.js$/) && has(paths, /(?:^|\/)__(?:start|settings)__\.js$/)
  return version !== null || isExport ? { name: 'PlayCanvas', version } : null
}

const phaser: Recognise = ({ paths, scripts }) => {
  const version = inScripts(scripts, /\bVERSION:\s*["'](\d+\.\d+\.\d+)[^"']*["'],\s*LOG_VERSION\b/)
  return version !== null || has(paths, /(?:^|\/)phaser(?:\.esm)?(?:\.min)?\.js$/) ? { name: 'Phaser', version } : null
}

const wasmBindgen: Recognise = ({ paths, page, scripts }) => {
  if (!has(paths, /_bg\.wasm(?:\.(?:br|gz))?$/) && inScripts(scripts, /(__wbindgen_)/) === null) return null
  const isBevy = has(paths, /bevy/i) || /bevy/i.test(page) || inScripts(scripts, /(bevy)/i) !== null
  return { name: isBevy ? 'Bevy' : 'wasm-bindgen', version: null }
}

const emscripten: Recognise = ({ page, scripts }) => {
  const isBuild = inScripts(scripts, /(\bModule\s*=\s*typeof\s+Module\s*!=|\b_?emscripten_[a-z_]+\b)/) !== null
  return isBuild || /Emscripten-Generated/.test(page) ? { name: 'Emscripten', version: null } : null
}

/** The engines that others stand on come last: Unity and Godot are compiled by Emscripten. */
const ENGINES = [unity, godot, rpgMaker, construct, gameMaker, playCanvas, phaser, wasmBindgen, emscripten]

const has = (paths: readonly string[], pattern: RegExp): boolean => paths.some((path) => pattern.test(path))

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')

/** Returns the first group of a pattern in the first script that has it. */
function inScripts(scripts: ReadonlyMap<string, string>, pattern: RegExp): string | null {
  for (const text of scripts.values()) {
    const found = pattern.exec(text)?.[1]
    if (found) return found
  }
  return null
}
