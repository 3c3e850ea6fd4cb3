import { harnessText } from '../worker/harness-files.ts'

/** A difference between versions of Blender that scripts meet. */
export interface VersionDifference {
  /** The version that brought it. */
  version: string
  text: string
}

let known: VersionDifference[] | null = null

/** Lists the common differences, oldest first. The harness explains errors with the same list. */
export function versionDifferences(): VersionDifference[] {
  known ??= (JSON.parse(harnessText('version_differences.json')) as VersionDifference[]).map(({ version, text }) => ({
    version,
    text,
  }))
  return known
}
