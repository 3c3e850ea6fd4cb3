import type { Expression, Node, Program, VariableDeclarator } from 'acorn'

/** A value that is written out in a script. */
export interface Literal {
  value: unknown
}

/** A property of an object that is written out. */
export interface WrittenProperty {
  name: string
  /** Null for a value that is computed. */
  literal: Literal | null
  node: Node
}

/** Returns the declarations at the top of a module by name. */
export function topLevelVariables(program: Program): Map<string, VariableDeclarator & { isConst: boolean }> {
  const variables = new Map<string, VariableDeclarator & { isConst: boolean }>()
  for (const node of program.body) {
    const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node
    if (declaration?.type !== 'VariableDeclaration') continue
    for (const each of declaration.declarations) {
      if (each.id.type === 'Identifier') variables.set(each.id.name, { ...each, isConst: declaration.kind === 'const' })
    }
  }
  return variables
}

/**
 * Returns the properties of an object that is written out; an empty list for anything else. A property before a spread
 * is left out, since the spread may replace it.
 */
export function propertiesOf(
  object: Expression | null | undefined,
  variables: ReturnType<typeof topLevelVariables>,
): WrittenProperty[] {
  if (object?.type !== 'ObjectExpression') return []
  let properties: WrittenProperty[] = []
  for (const each of object.properties) {
    if (each.type === 'SpreadElement') {
      properties = []
      continue
    }
    const { key, value, computed } = each
    const name = key.type === 'Identifier' && !computed ? key.name : key.type === 'Literal' ? String(key.value) : null
    if (name !== null) properties.push({ name, literal: literalOf(value, variables), node: each })
  }
  return properties
}

function literalOf(node: Expression, variables: ReturnType<typeof topLevelVariables>): Literal | null {
  switch (node.type) {
    case 'Literal':
      return { value: node.value }
    case 'ArrayExpression':
    case 'ObjectExpression':
      return { value: {} }
    case 'TemplateLiteral':
      return node.expressions.length === 0 ? { value: node.quasis[0]?.value.cooked } : null
    case 'UnaryExpression': {
      const inner = literalOf(node.argument, variables)
      if (inner === null) return null
      // Minifiers write `true` as `!0`.
      if (node.operator === '!') return { value: !inner.value }
      return node.operator === '-' && typeof inner.value === 'number' ? { value: -inner.value } : null
    }
    case 'Identifier': {
      const variable = variables.get(node.name)
      // A chain of names ends at its second link.
      const init = variable?.isConst ? variable.init : null
      return init && init.type !== 'Identifier' ? literalOf(init, variables) : null
    }
    default:
      return null
  }
}
