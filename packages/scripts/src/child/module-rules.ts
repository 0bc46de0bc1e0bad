import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { LoadFrame } from './frames.ts'

/**
 * Allows files of the skill to import only other files of the skill, `node:` modules and provided modules. Loads plain
 * JavaScript in place of TypeScript, with unchanged lines and columns.
 */
export function applyModuleRules({ files, code, provided }: LoadFrame): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (context.parentURL?.startsWith(files) !== true) return next(specifier, context)
      const url = Object.hasOwn(provided, specifier) ? provided[specifier] : undefined
      if (url !== undefined) return { url, shortCircuit: true }
      if (specifier.startsWith('node:')) return next(specifier, context)
      const isRelative = /^\.{1,2}\//.test(specifier) || specifier.startsWith(files)
      const target = isRelative ? new URL(specifier, context.parentURL).href : undefined
      if (target?.startsWith(files) === true) return { url: target, shortCircuit: true }
      const error = new Error(
        `${JSON.stringify(specifier)} cannot be imported: a script may import files of its skill, node: modules, skillstoke/command and zod`,
      )
      // Removes our loader from the stack, so that the error points at the importing file.
      error.stack = `${error.message}\n    at ${context.parentURL}`
      throw error
    },
    load(url, context, next) {
      const path = url.startsWith(files) ? url.slice(files.length).replace(/[?#].*$/, '') : ''
      if (!/\.(?:ts|mts|js|mjs)$/.test(path)) return next(url, context)
      const source = path.endsWith('ts') ? findPlain(code, path) : readFileSync(new URL(url), 'utf8')
      return { format: 'module', source, shortCircuit: true }
    },
  })
}

function findPlain(code: LoadFrame['code'], urlPath: string): string {
  const path = decodeURIComponent(urlPath)
  const source = Object.hasOwn(code, path) ? code[path] : undefined
  if (source === undefined) throw new Error(`the types of ${JSON.stringify(path)} cannot be removed`)
  return source
}
