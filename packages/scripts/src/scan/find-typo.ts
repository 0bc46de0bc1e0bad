import type { Diagnostic } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { COMMAND_MODULE, knowsDefiner } from './find-commands.ts'
import { constantsOf, exportsOf } from './module-exports.ts'
import { type ParsedModule, placeOf } from './parse-module.ts'

/** If a module should define commands but a mistake prevents this, returns a diagnostic for the mistake. */
export function findTypo(module: ParsedModule): Diagnostic | undefined {
  const { file, imports, body } = module
  const tell = (message: string, fix: string, node: Parameters<typeof placeOf>[0] = {}): Diagnostic => ({
    code: 'COMMAND_INVALID',
    severity: 'error',
    message,
    fix,
    path: file.path,
    ...placeOf(node),
  })
  const right = `import { defineCommand } from '${COMMAND_MODULE}'`
  for (const { source, specifiers, importKind } of imports) {
    if (importKind === 'type') continue
    if (/^@?skillstoke/.test(source.value) && source.value !== COMMAND_MODULE)
      return tell(`scripts cannot import ${quote(source.value)}`, `write ${right}`, source)
    if (source.value !== COMMAND_MODULE) continue
    for (const each of specifiers) {
      if (each.type === 'ImportDefaultSpecifier')
        return tell(`"${COMMAND_MODULE}" has no default export`, `write ${right}`, each)
      if (each.type !== 'ImportSpecifier' || each.importKind === 'type') continue
      const name = each.imported.type === 'Identifier' ? each.imported.name : each.imported.value
      if (name !== 'defineCommand' && !TYPES.includes(name))
        return tell(`"${COMMAND_MODULE}" has no export ${quote(name)}`, `write ${right}`, each)
    }
  }
  const isImported = imports.some(({ specifiers }) =>
    specifiers.some(each => each.local.name === 'defineCommand'),
  )
  const isOwn = body.some(
    statement => statement.type === 'FunctionDeclaration' && statement.id?.name === 'defineCommand',
  )
  const isUsed = [
    ...constantsOf(body).values(),
    ...exportsOf(body, new Map()).exported.map(({ value }) => value),
  ].some(
    value =>
      value.type === 'CallExpression' &&
      value.callee.type === 'Identifier' &&
      value.callee.name === 'defineCommand',
  )
  if (!isUsed || isImported || isOwn || knowsDefiner(module)) return undefined
  return tell('defineCommand is used but not imported', `write ${right}`)
}

// Importing a type without the keyword `type` is not a mistake.
const TYPES = [
  'CommandContext',
  'CommandDefinition',
  'CommandHints',
  'CommandInput',
  'DefinedCommand',
  'JsonSchemaObject',
  'StandardSchema',
]
