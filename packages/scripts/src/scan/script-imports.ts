import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import type { Diagnostic } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import type { Place } from './parse-module.ts'

/** Names of the modules that scripts may import, besides their own files and `node:` modules. */
export const PROVIDED_MODULES = ['skillstoke/command', 'zod', 'zod/mini', 'zod/v4'] as const

/** An import statement, with its position in the text. */
export interface WrittenImport {
  readonly specifier: string
  readonly place: Place
}

/** Target of an import: a file of the skill, a diagnostic that refuses the import, or neither for a provided module. */
export interface ImportTarget {
  readonly path?: string
  readonly diagnostic?: Diagnostic
}

/**
 * Resolves one import.
 * @param from path of the importing file
 * @param paths files of the skill
 */
export function resolveImport(
  from: string,
  written: WrittenImport,
  paths: ReadonlySet<string>,
): ImportTarget {
  const { specifier, place } = written
  const shown = quote(specifier)
  const refuse = (code: 'IMPORT_REFUSED' | 'IMPORT_MISSING', message: string, fix: string): ImportTarget => ({
    diagnostic: { code, severity: 'error', message, fix, path: from, ...place },
  })
  if (isProvided(specifier)) return {}
  if (specifier.startsWith('./') || specifier.startsWith('../')) {
    const path = posix.normalize(posix.join(posix.dirname(from), specifier))
    if (path.startsWith('../'))
      return refuse(
        'IMPORT_REFUSED',
        `${shown} points outside the skill folder`,
        'move the file into the skill folder',
      )
    if (paths.has(path)) return { path }
    const near = ['.ts', '.mts', '.js', '.mjs', '.json', '/index.ts', '/index.js']
      .flatMap(ending => [`${path}${ending}`, path.replace(/\.[mc]?js$/, '.ts')])
      .find(each => paths.has(each))
    const fix =
      near === undefined ? 'add the file, or remove the import' : `write ${quote(toSpecifier(from, near))}`
    return refuse('IMPORT_MISSING', `${shown} cannot be found: the skill has no file ${quote(path)}`, fix)
  }
  if (isBuiltin(specifier))
    return refuse(
      'IMPORT_REFUSED',
      `${shown} is a module of Node and needs the prefix "node:"`,
      `write ${quote(`node:${specifier}`)}`,
    )
  return refuse(
    'IMPORT_REFUSED',
    `${shown} cannot be imported: a script may import files of its skill, node: modules, skillstoke/command and zod`,
    'copy the code that the script needs into the skill folder',
  )
}

function isProvided(specifier: string): boolean {
  return specifier.startsWith('node:') || PROVIDED_MODULES.some(name => specifier === name)
}

function toSpecifier(from: string, path: string): string {
  const relative = posix.relative(posix.dirname(from), path)
  return relative.startsWith('.') ? relative : `./${relative}`
}
