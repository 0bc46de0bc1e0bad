import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PROVIDED_MODULES } from './scan/script-imports.ts'

/** Path of the main module of the processes that run scripts. */
export const MAIN: string = fileURLToPath(
  new URL(`./child/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url),
)
export interface ProvidedModules {
  /** URLs of the modules, by the names under which scripts import them. */
  readonly modules: Readonly<Record<(typeof PROVIDED_MODULES)[number], string>>
  /** URL of the JSON Schema validator. */
  readonly validator: string
  /** Files and folders that a process needs to read when it loads these modules. */
  readonly readable: readonly string[]
}

let provided: ProvidedModules | undefined

/** Returns the modules that scripts may import by name, and the files of this package that the processes of scripts read. */
export function providedModules(): ProvidedModules {
  const command = import.meta.resolve('@skillstoke/core/command')
  provided ??= {
    modules: {
      'skillstoke/command': command,
      zod: import.meta.resolve('zod'),
      'zod/mini': import.meta.resolve('zod/mini'),
      'zod/v4': import.meta.resolve('zod/v4'),
    },
    validator: import.meta.resolve('@cfworker/json-schema'),
    readable: [
      dirname(MAIN),
      fileURLToPath(command),
      packageFolder(import.meta.resolve('zod/package.json')),
      packageFolder(import.meta.resolve('@cfworker/json-schema/package.json')),
    ],
  }
  return provided
}

function packageFolder(manifestUrl: string): string {
  return dirname(fileURLToPath(manifestUrl))
}
