import { type ExportNamedDeclaration, type Node, type Pattern, type Program, parse } from 'acorn'

/** What is wrong with a room script. Line and column count from 1. */
export interface ScriptProblem {
  message: string
  line: number
  column: number
}

/** The exports that a room calls or reads. */
export const ROOM_EXPORTS = [
  'settings',
  'open',
  'join',
  'message',
  'binary',
  'tick',
  'leave',
  'snapshot',
  'restore',
  'close',
] as const

/** The language version that the rooms' engine runs. */
const ECMA_VERSION = 2024

const IMPORTS = new Set(['ImportDeclaration', 'ImportExpression', 'ExportAllDeclaration'])

/**
 * Checks that a text is an ES module without imports that exports something a room knows. Returns null for a valid one.
 *
 * A parser in JavaScript may take seconds and much memory for a hostile text, so the server calls it in a worker thread
 * only.
 */
export function inspectScript(source: string): ScriptProblem | null {
  let program: Program
  try {
    program = parse(source, { ecmaVersion: ECMA_VERSION, sourceType: 'module', locations: true })
  } catch (error) {
    if (error instanceof RangeError) return { message: 'It is nested too deeply', line: 1, column: 1 }
    if (!(error instanceof SyntaxError)) throw error
    const { line, column } = (error as SyntaxError & { loc: { line: number; column: number } }).loc
    return { message: error.message.replace(/ \(\d+:\d+\)$/, ''), line, column: column + 1 }
  }
  const found = importIn(program)
  if (found) return at(found, 'It imports another module; a room script is a single file')
  const exported = program.body.filter((node) => node.type.startsWith('Export'))
  const names = exported.flatMap((node) => (node.type === 'ExportNamedDeclaration' ? namesOf(node) : ['default']))
  if (names.some((name) => (ROOM_EXPORTS as readonly string[]).includes(name))) return null
  const message = `It exports nothing that a room calls: ${ROOM_EXPORTS.join(', ')}`
  return exported[0] ? at(exported[0], message) : { message, line: 1, column: 1 }
}

const at = ({ loc }: Node, message: string): ScriptProblem => ({
  message,
  line: loc?.start.line ?? 1,
  column: (loc?.start.column ?? 0) + 1,
})

/** Returns the first import of a program, `import()` and `export … from` included. */
function importIn(program: Program): Node | null {
  const waiting: unknown[] = [program]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (typeof node !== 'object' || node === null) continue
    if (Array.isArray(node)) {
      for (const child of node) waiting.push(child)
      continue
    }
    const { type, source } = node as Partial<ExportNamedDeclaration>
    if (IMPORTS.has(type as string) || (type === 'ExportNamedDeclaration' && source)) return node as Node
    // A position and a literal's value hold no nodes.
    for (const [key, child] of Object.entries(node)) if (key !== 'loc' && key !== 'value') waiting.push(child)
    // The value of a property or a class member is a node.
    if (type !== ('Literal' as never) && 'value' in node) waiting.push(node.value)
  }
  return null
}

function namesOf({ declaration, specifiers }: ExportNamedDeclaration): string[] {
  const listed = specifiers.map(({ exported }) =>
    exported.type === 'Identifier' ? exported.name : String(exported.value),
  )
  if (!declaration) return listed
  if (declaration.type !== 'VariableDeclaration') return [declaration.id.name]
  return declaration.declarations.flatMap(({ id }) => boundBy(id))
}

/** Returns the names that a pattern declares. */
function boundBy(pattern: Pattern): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name]
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        boundBy(property.type === 'RestElement' ? property.argument : property.value),
      )
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element ? boundBy(element) : []))
    case 'AssignmentPattern':
      return boundBy(pattern.left)
    case 'RestElement':
      return boundBy(pattern.argument)
    default:
      return []
  }
}
