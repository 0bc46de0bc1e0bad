import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import type { Diagnostic } from '@skillstoke/core'

/** What scripts may import besides their own files and `node:` modules. */
export const PROVIDED_MODULES = ['skillstoke/command', 'zod', 'zod/mini', 'zod/v4'] as const

/** An import as it is written. */
export interface WrittenImport {
  readonly specifier: string
  readonly line: number
  readonly column: number
}

/** Where an import of a skill's file leads: a file of the skill, something provided, or nowhere that is allowed. */
export type ImportTarget =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'provided' }
  | { readonly kind: 'refused'; readonly diagnostic: Diagnostic }

/** Decides about one import of the file at `from`; `paths` are the files of the skill. */
export function resolveImport(
  from: string,
  written: WrittenImport,
  paths: ReadonlySet<string>,
): ImportTarget {
  const { specifier, line, column } = written
  const shown = JSON.stringify(specifier)
  const refuse = (code: 'IMPORT_REFUSED' | 'IMPORT_MISSING', message: string, fix: string): ImportTarget => ({
    kind: 'refused',
    diagnostic: { code, severity: 'error', message, fix, path: from, line, column },
  })
  if (isProvided(specifier)) return { kind: 'provided' }
  if (specifier.startsWith('./') || specifier.startsWith('../')) {
    const path = posix.normalize(posix.join(posix.dirname(from), specifier))
    if (path.startsWith('../'))
      return refuse(
        'IMPORT_REFUSED',
        `${shown} leads out of the folder of the skill`,
        'move the file into the folder of the skill',
      )
    if (paths.has(path)) return { kind: 'file', path }
    const near = ['.ts', '.mts', '.js', '.mjs', '.json', '/index.ts', '/index.js']
      .flatMap(ending => [`${path}${ending}`, path.replace(/\.[mc]?js$/, '.ts')])
      .find(each => paths.has(each))
    const fix =
      near === undefined
        ? 'add the file, or take the import out'
        : `write ${JSON.stringify(toSpecifier(from, near))}`
    return refuse(
      'IMPORT_MISSING',
      `${shown} is not there: the skill has no file ${JSON.stringify(path)}`,
      fix,
    )
  }
  if (isBuiltin(specifier))
    return refuse(
      'IMPORT_REFUSED',
      `${shown} is a module of Node and needs its prefix`,
      `write ${JSON.stringify(`node:${specifier}`)}`,
    )
  return refuse(
    'IMPORT_REFUSED',
    `${shown} cannot be imported: a script may import files of its skill, node: modules, skillstoke/command and zod`,
    'copy what is needed of it into the folder of the skill',
  )
}

function isProvided(specifier: string): boolean {
  return specifier.startsWith('node:') || PROVIDED_MODULES.some(name => specifier === name)
}

function toSpecifier(from: string, path: string): string {
  const relative = posix.relative(posix.dirname(from), path)
  return relative.startsWith('.') ? relative : `./${relative}`
}
