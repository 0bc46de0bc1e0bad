import type { ExportNamedDeclaration, Expression, ObjectExpression, Statement } from '@babel/types'
import type { Constants } from './read-literal.ts'

export interface Exported {
  readonly name: string
  readonly value: Expression
  /** Offset at which the statement begins. */
  readonly start: number
}

/** The exports that can be found in the text of a module. */
export interface ModuleExports {
  readonly exported: readonly Exported[]
  /**
   * Whether the list contains every export that could be a command. The list is incomplete if an export comes from another module or is computed.
   */
  readonly isComplete: boolean
}

export function exportsOf(body: readonly Statement[], constants: Constants): ModuleExports {
  const exported: Exported[] = []
  let isComplete = true
  for (const statement of body) {
    if (statement.type === 'ExportAllDeclaration') isComplete &&= statement.exportKind === 'type'
    if (statement.type === 'ExportDefaultDeclaration') {
      const { declaration } = statement
      const value = declaration.type === 'Identifier' ? constants.get(declaration.name) : declaration
      if (value === undefined) isComplete = false
      else exported.push(toExported('default', value as Expression, statement.start))
    }
    if (statement.type === 'ExportNamedDeclaration' && statement.exportKind !== 'type')
      isComplete = readNamed(statement, constants, exported) && isComplete
  }
  return { exported, isComplete }
}

/** Adds the exports of one statement. Returns whether the text of the module shows all exports of the statement. */
function readNamed(
  { declaration, source, specifiers, start }: ExportNamedDeclaration,
  constants: Constants,
  exported: Exported[],
): boolean {
  if (source) return false
  let isComplete = true
  if (declaration?.type === 'VariableDeclaration')
    for (const { id, init } of declaration.declarations)
      if (id.type === 'Identifier' && init) exported.push(toExported(id.name, init, start))
      else isComplete = false
  for (const each of specifiers) {
    if (each.type !== 'ExportSpecifier' || each.exportKind === 'type') continue
    const value = constants.get(each.local.name)
    const name = each.exported.type === 'Identifier' ? each.exported.name : each.exported.value
    if (value === undefined) isComplete = false
    else exported.push(toExported(name, value, value.start))
  }
  return isComplete
}

function toExported(name: string, value: Expression, start: number | null | undefined): Exported {
  return { name, value: withoutTypes(value), start: start ?? 0 }
}

/** Returns the constants of a module by name. */
export function constantsOf(body: readonly Statement[]): Constants {
  const constants = new Map<string, Expression>()
  for (const statement of body) {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration' || declaration.kind !== 'const') continue
    for (const { id, init } of declaration.declarations)
      if (id.type === 'Identifier' && init) constants.set(id.name, init)
  }
  return constants
}

/** Returns an expression without TypeScript's type assertions. */
function withoutTypes(value: Expression): Expression {
  switch (value.type) {
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
    case 'TSNonNullExpression':
    case 'TSTypeAssertion':
      return withoutTypes(value.expression)
    default:
      return value
  }
}

/** Whether the value of an expression can never be a command, regardless of code that runs earlier. */
export function isNoCommand(value: Expression): boolean {
  return NO_COMMANDS.includes(value.type) || (value.type === 'ObjectExpression' && isWritten(value))
}

function isWritten({ properties }: ObjectExpression): boolean {
  return properties.every(({ type }) => type !== 'SpreadElement')
}

// Types of expressions and declarations, because both can be default exports.
const NO_COMMANDS: readonly string[] = [
  'ArrayExpression',
  'ArrowFunctionExpression',
  'BigIntLiteral',
  'BinaryExpression',
  'BooleanLiteral',
  'ClassDeclaration',
  'ClassExpression',
  'FunctionDeclaration',
  'FunctionExpression',
  'NewExpression',
  'NullLiteral',
  'NumericLiteral',
  'RegExpLiteral',
  'StringLiteral',
  'TSInterfaceDeclaration',
  'TemplateLiteral',
  'UnaryExpression',
]
