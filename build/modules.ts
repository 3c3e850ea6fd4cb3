import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Whether Node takes a file for an ES module: by its ending, else by the package.json above it. */
export function isModule(file: string): boolean {
  if (/\.[cm]js$/.test(file)) return file.endsWith('.mjs')
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest)) return JSON.parse(readFileSync(manifest, 'utf8')).type === 'module'
  }
  return false
}
