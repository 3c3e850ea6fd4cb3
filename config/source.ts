import { isAlias, isMap, isSeq, LineCounter, type Node, type Pair, parseDocument } from 'yaml'
import type { Path, Problem } from './problems.ts'

/** A parsed configuration file with its values and their positions. */
export interface Source {
  /** The file as the operator named it. */
  name: string
  values: Record<string, unknown>
  problems: Problem[]
  /**
   * Returns the line and column of a value or its key. If the file lacks the key, returns those of the nearest
   * enclosing mapping.
   */
  position(path: Path, at: 'key' | 'value'): { line: number; column: number }
}

/** Parses YAML 1.2. Reports syntax errors, duplicate keys, unknown tags and keys that are not strings. */
export function readSource(name: string, text: string): Source {
  const lines = new LineCounter()
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true })
  const problems: Problem[] = [...document.errors, ...document.warnings].map((error) => ({
    severity: 'error',
    key: '',
    message: SENTENCES[error.code] ?? `this is not YAML: ${error.message}`,
    source: name,
    ...place(error.pos[0]),
  }))
  const root = document.contents
  if (root !== null && !isMap(root)) {
    const message = 'expected a mapping of sections, such as `listen: { port: 8080 }`'
    problems.push({ severity: 'error', key: '', message, source: name, ...place(root.range?.[0] ?? 0) })
  }

  function position(path: Path, at: 'key' | 'value') {
    let node: Node | null = root
    let found: Node | null = root
    for (const part of path) {
      if (isAlias(node)) node = node.resolve(document) ?? null
      let key: Node | null = null
      if (isMap<Node, Node | null>(node)) {
        const pair: Pair<Node, Node | null> | undefined = node.items.find((item) => String(item.key) === String(part))
        if (!pair) break
        key = pair.key
        node = pair.value
      } else if (isSeq<Node>(node)) key = node = node.items[Number(part)] ?? null
      else break
      found = at === 'key' ? key : (node ?? key)
    }
    return place(found?.range?.[0] ?? 0)
  }

  const values = problems.length === 0 ? ((document.toJS() ?? {}) as Record<string, unknown>) : {}
  return { name, values, problems, position }
}

const SENTENCES: Record<string, string> = {
  DUPLICATE_KEY: 'this key stands twice in the same mapping; keep one',
  TAB_AS_INDENT: 'indent with spaces, not tabs',
  NON_STRING_KEY: 'a key must be plain text',
}
