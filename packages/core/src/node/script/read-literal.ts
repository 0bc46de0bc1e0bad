import type { Expression, ObjectExpression } from 'oxc-parser'

/** A value that is written down, and not computed. */
export interface Literal {
  readonly value: unknown
}

/** Top-level constants of a module by name. */
export type Constants = ReadonlyMap<string, Expression>

const MAX_DEPTH = 32

/** The value of an expression that can be read without running anything; `undefined` for one that has to be computed. */
export function readLiteral(node: Expression, constants: Constants, depth = 0): Literal | undefined {
  if (depth > MAX_DEPTH) return undefined
  const read = (inner: Expression): Literal | undefined => readLiteral(inner, constants, depth + 1)
  switch (node.type) {
    case 'Literal':
      return 'regex' in node || 'bigint' in node ? undefined : { value: node.value }
    case 'TemplateLiteral': {
      const [text] = node.quasis
      return node.expressions.length === 0 ? { value: text?.value.cooked ?? '' } : undefined
    }
    case 'UnaryExpression': {
      const inner = node.operator === '-' ? read(node.argument) : undefined
      return typeof inner?.value === 'number' ? { value: -inner.value } : undefined
    }
    case 'BinaryExpression': {
      const [left, right] = node.operator === '+' ? [read(node.left), read(node.right)] : []
      return typeof left?.value === 'string' && typeof right?.value === 'string'
        ? { value: left.value + right.value }
        : undefined
    }
    case 'ParenthesizedExpression':
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
    case 'TSNonNullExpression':
      return read(node.expression)
    case 'Identifier': {
      const constant = constants.get(node.name)
      return constant === undefined ? undefined : read(constant)
    }
    case 'ArrayExpression': {
      const items = node.elements.map(each =>
        each === null || each.type === 'SpreadElement' ? undefined : read(each),
      )
      return items.every(each => each !== undefined) ? { value: items.map(each => each.value) } : undefined
    }
    case 'ObjectExpression':
      return readObject(node, read)
    default:
      return undefined
  }
}

function readObject(
  node: ObjectExpression,
  read: (inner: Expression) => Literal | undefined,
): Literal | undefined {
  const entries: [string, unknown][] = []
  for (const property of node.properties) {
    const key = propertyName(property)
    const literal = key === undefined || property.type !== 'Property' ? undefined : read(property.value)
    if (key === undefined || literal === undefined) return undefined
    entries.push([key, literal.value])
  }
  // Not by assignment: `__proto__` is a name like any other here.
  return { value: Object.fromEntries(entries) }
}

/** The name of a plain property; `undefined` for a spread, a method or a computed name. */
export function propertyName(property: ObjectExpression['properties'][number]): string | undefined {
  if (property.type !== 'Property' || property.computed || property.kind !== 'init') return undefined
  const { key } = property
  if (key.type === 'Identifier') return key.name
  return key.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined
}
