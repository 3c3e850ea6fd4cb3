import { SourceMap } from 'node:module'
import { excerptOf, type Place, type SourcePlace } from './places.ts'

/** What bundlers write before a source map that is part of the bundle. */
const COMMENT = '\n//# sourceMappingURL=data:application/json;'
const ENCODING = 'base64,'
/** A path that is shown to the author of the script. */
const LONGEST_PATH = 200

/** A source map of version 3 (ECMA-426) as JSON, or that in Base64. */
export type MapText = { json: string } | { base64: string }

/**
 * Separates a script from the source map at its end (ECMA-426, inline). The lines of the script keep their numbers.
 *
 * @returns the map in Base64, as it stands in the text; null without one
 */
export function splitSourceMap(text: string): { source: string; sourceMap: string | null } {
  const at = text.lastIndexOf(COMMENT)
  const encoded = at === -1 ? -1 : text.indexOf(ENCODING, at + COMMENT.length)
  const sourceMap = encoded === -1 ? '' : text.slice(encoded + ENCODING.length).trimEnd()
  // Code behind the comment belongs to the script.
  if (!/^[\w+/]+=*$/.test(sourceMap)) return { source: text, sourceMap: null }
  return { source: text.slice(0, at + 1), sourceMap }
}

/**
 * Finds places of a bundle in the files that it was made of.
 *
 * A hostile map may take long to read, so the server calls it in a worker thread only.
 *
 * @returns for each place that in a file; null where the map names none, or is none
 */
export function locateInSources(sourceMap: MapText, places: readonly Place[]): (SourcePlace | null)[] {
  const map = parse(sourceMap)
  return places.map(({ line, column }) => {
    const entry = map?.entries.findEntry(line - 1, column - 1)
    // A line without an entry of its own was written by the bundler.
    if (!map || !entry || !('originalSource' in entry) || entry.generatedLine !== line - 1) return null
    const path = map.sources[Number(entry.originalSource)]
    if (typeof path !== 'string') return null
    const text = map.contents[Number(entry.originalSource)]
    const original = entry.originalLine + 1
    return {
      path: path.slice(0, LONGEST_PATH),
      line: original,
      column: entry.originalColumn + 1,
      excerpt: typeof text === 'string' ? excerptOf(text, original) : null,
    }
  })
}

interface ParsedMap {
  /** Its sources are the indexes of `sources`, since the texts of a stranger's map may be any. */
  entries: SourceMap
  sources: unknown[]
  contents: unknown[]
}

function parse(sourceMap: MapText): ParsedMap | null {
  try {
    const json = 'json' in sourceMap ? sourceMap.json : Buffer.from(sourceMap.base64, 'base64').toString()
    const { version, mappings, sources, sourcesContent } = JSON.parse(json)
    if (version !== 3 || typeof mappings !== 'string' || !Array.isArray(sources)) return null
    const indexes = sources.map((_, index) => String(index))
    const entries = new SourceMap({
      file: '',
      version,
      mappings,
      sources: indexes,
      sourcesContent: [],
      names: [],
      sourceRoot: '',
    })
    return { entries, sources, contents: Array.isArray(sourcesContent) ? sourcesContent : [] }
  } catch {
    return null
  }
}
