import { isAlias, isMap, isSeq, LineCounter, type Node, type Pair, parseDocument, visit } from 'yaml'
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
  const problem = (message: string, offset: number): Problem => ({
    severity: 'error',
    key: '',
    message,
    source: name,
    ...place(offset),
  })
  const problems: Problem[] = []
  visit(document, {
    // A schedule without quotes is no alias that its author wanted.
    Alias: (_key, node) => {
      if (!node.resolve(document)) problems.push(problem(UNQUOTED, node.range?.[0] ?? 0))
    },
  })
  for (const error of [...document.errors, ...document.warnings]) {
    const found = problem(SENTENCES[error.code] ?? `this is not YAML: ${error.message}`, error.pos[0])
    // What follows on the line of an error is a consequence of it.
    if (!problems.some(({ line }) => line === found.line)) problems.push(found)
  }
  const root = document.contents
  if (root !== null && !isMap(root)) {
    problems.push(problem('expected a mapping of sections, such as `listen: { port: 8080 }`', root.range?.[0] ?? 0))
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

const UNQUOTED = 'a value that begins with * needs quotes, such as schedule: "*/30 * * * *"'

const SENTENCES: Record<string, string> = {
  DUPLICATE_KEY: 'this key stands twice in the same mapping; keep one',
  TAB_AS_INDENT: 'indent with spaces, not tabs',
  BAD_SCALAR_START: 'a value that begins with this character needs quotes',
  NON_STRING_KEY: 'a key must be plain text',
}
