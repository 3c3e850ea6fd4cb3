import type { Availability } from './interface.ts'

/** Runs Blender with arguments in the sandbox of a run. @returns its output */
export type AskBlender = (...args: string[]) => Promise<string>

/** Determines the version of Blender, and whether it can read and write glTF. */
export class Probe {
  /** The last version that proved complete. */
  #complete: string | null = null

  /** @returns null when the output names no version of Blender */
  async check(ask: AskBlender): Promise<Extract<Availability, { available: true }> | null> {
    // The whole test takes a second, so a version that proved complete is only asked for its name.
    if (this.#complete && versionIn(await ask('--version')) === this.#complete)
      return { available: true, blenderVersion: this.#complete, missing: null }
    this.#complete = null
    const text = await ask(...IMPORT_NUMPY)
    const blenderVersion = versionIn(text)
    if (!blenderVersion) return null
    const missing = missingIn(text)
    if (missing === null) this.#complete = blenderVersion
    return { available: true, blenderVersion, missing }
  }
}

/** Arguments that make Blender report its version, and whether it can read and write glTF; see `missingIn`. */
const IMPORT_NUMPY: readonly string[] = [
  '--background',
  '--factory-startup',
  '-noaudio',
  '--python-expr',
  // Python can also import an empty folder of that name, so the script uses an attribute.
  `try:
    import numpy; numpy.ndarray
except Exception:
    print("\\ngameyard: no numpy")`,
]

/** Describes what Blender lacks, from the output of the test. */
const missingIn = (text: string): string | null => (/^gameyard: no numpy/m.test(text) ? NO_NUMPY : null)

const NO_NUMPY =
  'Blender’s Python has no numpy, without which it can neither read nor write glTF; install the package python3-numpy (apt install python3-numpy), in the image if Blender runs in one.'

/** Parses the version in the first line that Blender writes, also without `--version`. */
const versionIn = (text: string): string | null => /\bBlender (\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1] ?? null
