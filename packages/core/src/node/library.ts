import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

let known: { readonly id: string | undefined } | undefined

/**
 * Returns an identifier for this build of the library. Another build may read the same folder differently. Returns
 * `undefined` if builds of the library cannot be distinguished, for example in a program compiled into one file.
 */
export function libraryId(): string | undefined {
  known ??= { id: describeLibrary() }
  return known.id
}

/** Includes the modification time of this file, because two builds of the same version may differ only in that time. */
function describeLibrary(): string | undefined {
  try {
    const { mtimeMs, size } = statSync(fileURLToPath(import.meta.url))
    return `${readVersion()} ${mtimeMs} ${size}`
  } catch {
    return undefined
  }
}

/**
 * Returns the version of this package. In a bundle, returns `bundled`, because the `package.json` of this package is
 * missing there. The size or time of a bundle's file changes with every version.
 */
function readVersion(): string {
  try {
    const { version } = createRequire(import.meta.url)('@skillstoke/core/package.json') as { version: string }
    return version
  } catch {
    return 'bundled'
  }
}
