import { stringify } from 'yaml'

/** The parts of a result of tap's parser that are shown. */
export interface Result {
  ok: boolean
  name: string
  /** The names of the tests above it and its own, the first of them of tap's root. */
  fullname: string
  skip?: string | boolean
  todo?: string | boolean
  diag?: Diagnostics | null
}

interface Diagnostics {
  diff?: string
  at?: { fileName?: string; lineNumber?: number; columnNumber?: number }
  source?: string
  stack?: string
  [more: string]: unknown
}

/** Shown in their own way, or of no use to who reads it. */
const SHOWN = ['diff', 'at', 'source', 'stack', 'tapCaught', 'test']

/** @returns what failed, as some lines of text: its name, where it stands, the lines around, and what was found */
export function describeFailure(file: string, result: Result): string {
  const { diff, at, source, stack, ...more } = result.diag ?? {}
  const lines = [`${file}: ${names(file, result)}`]
  if (at?.fileName) lines.push(`  at ${at.fileName}:${at.lineNumber}:${at.columnNumber}`)
  if (source) lines.push('', indent(source))
  if (diff) lines.push('', indent(diff))
  else if (stack) lines.push('', indent(stack))
  const rest = Object.fromEntries(Object.entries(more).filter(([key]) => !SHOWN.includes(key)))
  if (!diff && Object.keys(rest).length > 0) lines.push('', indent(stringify(rest)))
  return lines.join('\n')
}

function names(file: string, { fullname, name }: Result): string {
  const path = fullname
    .replace(/^.*?> /, '')
    .replace(file, '')
    .trim()
  return path.includes(name) ? path : `${path} > ${name}`
}

const indent = (text: string) => text.trimEnd().replaceAll(/^/gm, '    ')
