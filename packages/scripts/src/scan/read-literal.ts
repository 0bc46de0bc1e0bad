import type { Expression, ObjectExpression } from '@babel/types'

/** A value that the text of a module contains, so the value is known without running code. */
export interface Literal {
  readonly value: unknown
}

/** Top-level constants of a module by name. */
export type Constants = ReadonlyMap<string, Expression>

// Limits for all reads together, because a constant can refer to ten constants, and each of them to ten more.
const MAX_NODES = 5_000
const MAX_CHARACTERS = 262_144

/**
 * Reads the values of literal expressions of one module without running code. All calls of `read()` share one budget,
 * which limits how much they process.
 */
export class LiteralReader {
  readonly #constants: Constants
  #left = MAX_NODES
  #charactersLeft = MAX_CHARACTERS

  constructor(constants: Constants) {
    this.#constants = constants
  }

  /** Returns the value of an expression, or `undefined` if it is computed or exceeds the budget. */
  read(node: Expression): Literal | undefined {
    if (--this.#left < 0) return undefined
    switch (node.type) {
      case 'StringLiteral':
      case 'NumericLiteral':
      case 'BooleanLiteral':
        return { value: node.value }
      case 'NullLiteral':
        return { value: null }
      case 'TemplateLiteral': {
        const [text] = node.quasis
        return node.expressions.length === 0 ? { value: text?.value.cooked ?? '' } : undefined
      }
      case 'UnaryExpression': {
        const inner = node.operator === '-' ? this.read(node.argument) : undefined
        return typeof inner?.value === 'number' ? { value: -inner.value } : undefined
      }
      case 'BinaryExpression': {
        if (node.operator !== '+' || node.left.type === 'PrivateName') return undefined
        const [left, right] = [this.read(node.left), this.read(node.right)]
        if (typeof left?.value !== 'string' || typeof right?.value !== 'string') return undefined
        this.#charactersLeft -= left.value.length + right.value.length
        return this.#charactersLeft < 0 ? undefined : { value: left.value + right.value }
      }
      case 'ParenthesizedExpression':
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
        return this.read(node.expression)
      case 'Identifier': {
        const constant = this.#constants.get(node.name)
        const literal = constant === undefined ? undefined : this.read(constant)
        // Count the text at each use of a constant, because each use repeats the text in the output.
        if (typeof literal?.value === 'string') this.#charactersLeft -= literal.value.length
        return this.#charactersLeft < 0 ? undefined : literal
      }
      case 'ArrayExpression': {
        const items = node.elements.map(each =>
          each === null || each.type === 'SpreadElement' ? undefined : this.read(each),
        )
        return items.every(each => each !== undefined) ? { value: items.map(each => each.value) } : undefined
      }
      case 'ObjectExpression':
        return this.#readObject(node)
      default:
        return undefined
    }
  }

  #readObject(node: ObjectExpression): Literal | undefined {
    const entries: [string, unknown][] = []
    for (const property of node.properties) {
      const field = toField(property)
      const literal = field === undefined ? undefined : this.read(field.value)
      if (field === undefined || literal === undefined) return undefined
      entries.push([field.name, literal.value])
    }
    // Use `fromEntries()`, because an assignment to the name `__proto__` would change the prototype.
    return { value: Object.fromEntries(entries) }
  }
}

/** Returns the name and value of a plain property, or `undefined` for a spread, a method or a computed name. */
export function toField(
  property: ObjectExpression['properties'][number],
): { readonly name: string; readonly value: Expression } | undefined {
  if (property.type !== 'ObjectProperty' || property.computed) return undefined
  const { key, value } = property
  const name = key.type === 'Identifier' ? key.name : key.type === 'StringLiteral' ? key.value : undefined
  return name === undefined ? undefined : { name, value: value as Expression }
}
