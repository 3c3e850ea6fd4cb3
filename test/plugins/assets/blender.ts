import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { skipWithout } from '../../kit/components.ts'
import { timeLimit } from '../../kit/time-limit.ts'

const command = process.env.BLENDER ?? 'blender'
const script = join(import.meta.dirname, 'blender-models.py')
const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/gameyard/models')

/** The models of the short form. One Blender makes them all, because its start takes longer than a small model. */
const USUAL = ['flat', 'smooth', 'mixamo', 'unreal', 'vrm', 'readyplayerme', 'handless', 'snake']
/** A process that makes models is given so long before another one makes them too. */
const PATIENCE_MS = timeLimit(120)

/** The folder with the models of this script and this Blender. */
let kept: string | undefined

/**
 * Returns models that the real Blender creates, by their names in blender-models.py. Returns null, after marking the
 * test as skipped, where there is no Blender; under CI=true that is a failure.
 */
export function blenderModels(t: Test, names: readonly string[]): Map<string, Buffer> | null {
  try {
    kept ??= join(CACHE, digest([readFileSync(script), execFileSync(command, ['--version'], { stdio: 'pipe' })]))
    makeMissing(kept, names)
  } catch (error) {
    if (process.env.CI === 'true') throw error
    skipWithout(t, 'blender')
    return null
  }
  const folder = kept
  return new Map(names.map((name) => [name, readFileSync(join(folder, `${name}.glb`))]))
}

function makeMissing(folder: string, names: readonly string[]): void {
  const lacks = (name: string) => !existsSync(join(folder, `${name}.glb`))
  if (!names.some(lacks)) return
  mkdirSync(folder, { recursive: true })
  const release = waitForTurn(join(folder, 'lock'))
  try {
    const missing = [...new Set([...names, ...USUAL])].filter(lacks)
    if (names.some(lacks)) make(folder, missing)
  } finally {
    release()
  }
}

/** Blocks this process while another one makes models. @returns a function that lets the next one begin */
function waitForTurn(lock: string): () => void {
  const end = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      // The other process may have been killed.
      if (Date.now() > end) break
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    }
  }
  return () => rmSync(lock, { recursive: true, force: true })
}

function make(folder: string, missing: readonly string[]): void {
  const made = mkdtempSync(join(folder, 'making-'))
  try {
    execFileSync(command, ['-b', '--factory-startup', '--python', script, '--', made, ...missing], { stdio: 'pipe' })
    // The rename is atomic, because another test process may create the same file.
    for (const name of missing) renameSync(join(made, `${name}.glb`), join(folder, `${name}.glb`))
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

function digest(parts: Buffer[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex').slice(0, 16)
}
