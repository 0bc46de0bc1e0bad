import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

let known: { readonly id: string | undefined } | undefined

/**
 * Names this build of the library, because another build may read the same folder differently. `undefined` where the build
 * cannot be told from others, as in a program that was compiled into one file.
 */
export function libraryId(): string | undefined {
  known ??= { id: describeLibrary() }
  return known.id
}

/** A build that was made anew without a new version differs in the time of its file. */
function describeLibrary(): string | undefined {
  try {
    const { mtimeMs, size } = statSync(fileURLToPath(import.meta.url))
    return `${readVersion()} ${mtimeMs} ${size}`
  } catch {
    return undefined
  }
}

/** A bundle of somebody's own has no manifest of this package beside it; its file changes with every version. */
function readVersion(): string {
  try {
    const { version } = createRequire(import.meta.url)('@skillstoke/core/package.json') as { version: string }
    return version
  } catch {
    return 'bundled'
  }
}
