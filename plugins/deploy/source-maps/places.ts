/** A place in a text. Line and column count from 1. */
export interface Place {
  line: number
  column: number
}

/** A place in a file as its author wrote it. */
export interface SourcePlace extends Place {
  /** The path of the file in the build or, for a bundle with a source map, the name that the map gives it. */
  path: string
  /** The lines around the place; null when they are not known. */
  excerpt: Excerpt | null
}

/** Some lines of a file. */
export interface Excerpt {
  /** The number of the first line. */
  from: number
  lines: string[]
}

/** The number of lines before and after a place. */
const AROUND = 3
/** A line of a minified source can have a megabyte. */
const LONGEST_LINE = 160

/** Returns the lines around a line of a text; null when the text has no such line. */
export function excerptOf(text: string, line: number): Excerpt | null {
  const lines = text.trimEnd().split('\n')
  if (line > lines.length) return null
  const from = Math.max(1, line - AROUND)
  return { from, lines: lines.slice(from - 1, line + AROUND).map((shown) => cut(shown.trimEnd())) }
}

const cut = (text: string): string => (text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text)
