// The entry point of the single binary. It loads the bundled code (build/binary.ts) file by file, with the V8 code
// cache made when the binary was built.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getAssetKeys, getRawAsset } from 'node:sea'
import { Script } from 'node:vm'

/** The folder for the compiled code while the binary is built, else null. */
declare const RECORD_TO: string | null

type Loaded = { exports: unknown }

const assets = new Set(getAssetKeys())
const loaded = new Map<string, Loaded>()
const scripts = new Map<string, Script>()

/** Loads a file as CommonJS does. In an import cycle it returns the exports that exist so far. */
function load(name: string): unknown {
  const known = loaded.get(name)
  if (known) return known.exports
  const module: Loaded = { exports: {} }
  loaded.set(name, module)
  const compiled = `compiled/${name}`
  const script = new Script(Buffer.from(getRawAsset(`code/${name}`)).toString('latin1'), {
    filename: `gameyard/${name}`,
    cachedData: assets.has(compiled) ? Buffer.from(getRawAsset(compiled)) : undefined,
  })
  if (RECORD_TO) scripts.set(name, script)
  script.runInThisContext()(module.exports, requireOf, module, withNames)
  return module.exports
}

const requireOf = (name: string): unknown => (name.startsWith('./') ? load(name.slice(2)) : require(name))

/** Converts CommonJS exports to the result of `import()`. */
const withNames = (exports: object): object => ({ ...exports, default: exports })

if (RECORD_TO) {
  process.on('exit', () => {
    for (const [name, script] of scripts) {
      const file = join(RECORD_TO, name)
      if (!existsSync(file)) writeFileSync(file, script.createCachedData())
    }
  })
}

load('binary.js')
