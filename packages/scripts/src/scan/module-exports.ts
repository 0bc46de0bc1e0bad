import type { ExportNamedDeclaration, Expression, ObjectExpression, Statement } from '@babel/types'
import type { Constants } from './read-literal.ts'

export interface Exported {
  readonly name: string
  readonly value: Expression
  /** Where the statement begins. */
  readonly start: number
}

/** What a module exports, as far as that is written in it. */
export interface ModuleExports {
  readonly exported: readonly Exported[]
  /** Whether that is all of which commands can be made: nothing comes from another module, or is only known later. */
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

/** Adds what one statement exports; returns whether that is all of it. */
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

/** The constants of a module by their names. */
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

/** An expression without what TypeScript says of it. */
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

/** Whether an expression surely is no command, whatever runs before it. */
export function isNoCommand(value: Expression): boolean {
  return NO_COMMANDS.includes(value.type) || (value.type === 'ObjectExpression' && isWritten(value))
}

function isWritten({ properties }: ObjectExpression): boolean {
  return properties.every(({ type }) => type !== 'SpreadElement')
}

// A default export may be a declaration.
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
