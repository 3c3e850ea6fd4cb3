import { stringify } from 'yaml'

/** The fields of a result of tap's parser that the summary shows. */
export interface Result {
  ok: boolean
  name: string
  /** The names of the parent tests and of the test itself. The first is that of tap's root. */
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

/** Fields that are shown separately, or not useful to the reader. */
const SHOWN = ['diff', 'at', 'source', 'stack', 'tapCaught', 'test']

/** @returns the failure as lines of text: name, location, the surrounding source, and the found value */
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
