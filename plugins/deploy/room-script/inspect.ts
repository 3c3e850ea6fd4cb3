import {
  type ExportNamedDeclaration,
  type Identifier,
  type Node,
  type Pattern,
  type Program,
  parse,
  type Literal as StringLiteral,
} from 'acorn'
import { nearestName, ROOM_EXPORTS, ROOM_SETTINGS } from './known-names.ts'
import { type Literal, propertiesOf, topLevelVariables, type WrittenProperty } from './literals.ts'

/** What is wrong with a room script. Line and column count from 1. */
export interface ScriptProblem {
  message: string
  line: number
  column: number
}

/** Something about a script that runs, and probably does not do what its author means. */
export interface ScriptNote {
  level: 'info' | 'warning'
  code: 'unknown_export' | 'unknown_setting' | 'ignored_setting'
  /** The end of a sentence that begins with the path of the script. */
  message: string
}

export interface Inspection {
  /** Null for a script that a room can run. */
  problem: ScriptProblem | null
  notes: ScriptNote[]
}

/** The language version that the rooms' engine runs. */
const ECMA_VERSION = 2024

const IMPORTS = new Set(['ImportDeclaration', 'ImportExpression', 'ExportAllDeclaration'])

/**
 * Checks that a text is an ES module without imports that exports something a room knows, and whose settings are in range
 * as far as they are written out.
 *
 * A parser in JavaScript may take seconds and much memory for a hostile text, so the server calls it in a worker thread
 * only.
 */
export function inspectScript(source: string): Inspection {
  const refused = (problem: ScriptProblem): Inspection => ({ problem, notes: [] })
  let program: Program
  try {
    program = parse(source, { ecmaVersion: ECMA_VERSION, sourceType: 'module', locations: true })
  } catch (error) {
    if (error instanceof RangeError) return refused({ message: 'It is nested too deeply', line: 1, column: 1 })
    if (!(error instanceof SyntaxError)) throw error
    const { line, column } = (error as SyntaxError & { loc: { line: number; column: number } }).loc
    return refused({ message: error.message.replace(/ \(\d+:\d+\)$/, ''), line, column: column + 1 })
  }
  const found = importIn(program)
  if (found) return refused(at(found, 'It imports another module; a room script is a single file'))
  const exported = program.body.filter((node) => node.type.startsWith('Export'))
  const names = exported.flatMap((node) => (node.type === 'ExportNamedDeclaration' ? namesOf(node) : ['default']))
  if (!names.some(isKnown)) {
    const message = `It exports nothing that a room calls: ${ROOM_EXPORTS.join(', ')}`
    return refused(exported[0] ? at(exported[0], message) : { message, line: 1, column: 1 })
  }
  const settings = settingsOf(program)
  const wrong = settings.find(({ name, literal }) => ROOM_SETTINGS[name]?.isStrict && !isAccepted(name, literal))
  if (wrong) return refused(at(wrong.node, `settings.${wrong.name} must be ${ROOM_SETTINGS[wrong.name]?.is}`))
  return { problem: null, notes: [...notesOnExports(names), ...settings.flatMap(noteOnSetting)] }
}

const isKnown = (name: string): boolean => (ROOM_EXPORTS as readonly string[]).includes(name)

/** A value that is computed may be any. */
const isAccepted = (name: string, literal: Literal | null): boolean =>
  literal === null || (ROOM_SETTINGS[name]?.accepts(literal.value) ?? false)

/** Returns the settings that are written out, also where a bundler exports them at the end. */
function settingsOf(program: Program): WrittenProperty[] {
  const variables = topLevelVariables(program)
  for (const node of program.body) {
    if (node.type !== 'ExportNamedDeclaration') continue
    const specifier = node.specifiers.find(({ exported }) => nameOf(exported) === 'settings')
    const name = specifier ? nameOf(specifier.local) : namesOf(node).includes('settings') ? 'settings' : null
    if (name !== null) return propertiesOf(variables.get(name)?.init, variables)
  }
  return []
}

function notesOnExports(names: readonly string[]): ScriptNote[] {
  const unknown = names.filter((name) => !isKnown(name))
  const meant = unknown.map((name) => [name, nearestName(name, ROOM_EXPORTS)] as const)
  const others = meant.filter(([, known]) => known === null).map(([name]) => name)
  return [
    ...meant.flatMap(([name, known]): ScriptNote[] => {
      if (known === null || names.includes(known)) return []
      return [
        {
          level: 'warning',
          code: 'unknown_export',
          message: `exports ${name}, which no room calls; it may mean ${known}.`,
        },
      ]
    }),
    ...(others.length > 0
      ? [
          {
            level: 'info',
            code: 'unknown_export',
            message: `exports ${others.join(', ')}, which no room reads.`,
          } as const,
        ]
      : []),
  ]
}

function noteOnSetting({ name, literal }: WrittenProperty): ScriptNote[] {
  const rule = Object.hasOwn(ROOM_SETTINGS, name) ? ROOM_SETTINGS[name] : undefined
  if (rule) {
    if (isAccepted(name, literal)) return []
    const message = `has a settings.${name} that is not ${rule.is}, and counts as false.`
    return [{ level: 'warning', code: 'ignored_setting', message }]
  }
  const known = nearestName(name, Object.keys(ROOM_SETTINGS))
  const meant = known === null ? `there are ${Object.keys(ROOM_SETTINGS).join(', ')}` : `it may mean ${known}`
  return [
    { level: 'warning', code: 'unknown_setting', message: `has settings.${name}, which no room reads; ${meant}.` },
  ]
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

const nameOf = (name: Identifier | StringLiteral): string =>
  name.type === 'Identifier' ? name.name : String(name.value)

function namesOf({ declaration, specifiers }: ExportNamedDeclaration): string[] {
  const listed = specifiers.map(({ exported }) => nameOf(exported))
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
