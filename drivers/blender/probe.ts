import type { Availability } from './interface.ts'

/** Runs Blender with arguments, contained as a run is. @returns what it printed */
export type AskBlender = (...args: string[]) => Promise<string>

/** Asks a Blender for its version, and whether it can read and write glTF. */
export class Probe {
  /** The version that was found to lack nothing. */
  #complete: string | null = null

  /** @returns null when what was asked does not say which version of Blender it is */
  async check(ask: AskBlender): Promise<Extract<Availability, { available: true }> | null> {
    const blenderVersion = versionIn(await ask('--version'))
    if (!blenderVersion) return null
    // The second question costs a second; a version that lacks nothing stays so.
    const missing = blenderVersion === this.#complete ? null : missingIn(await ask(...IMPORT_NUMPY))
    this.#complete = missing === null ? blenderVersion : null
    return { available: true, blenderVersion, missing }
  }
}

/** Arguments that have Blender say whether it can read and write glTF; see `missingIn`. */
const IMPORT_NUMPY: readonly string[] = [
  ...['--background', '--factory-startup', '-noaudio', '--python-expr'],
  // A folder of that name without a package in it can be imported, too.
  `try:
    import numpy; numpy.ndarray
except Exception:
    print("\\ngameyard: no numpy")`,
]

/** What Blender lacks, by what it printed when it was asked. */
const missingIn = (text: string): string | null => (/^gameyard: no numpy/m.test(text) ? NO_NUMPY : null)

const NO_NUMPY =
  'Blender’s Python has no numpy, without which it can neither read nor write glTF; install the package python3-numpy (apt install python3-numpy), in the image if Blender runs in one.'

/** The version from the first line that `blender --version` prints. */
const versionIn = (text: string): string | null => /\bBlender (\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1] ?? null
