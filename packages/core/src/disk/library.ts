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

/** Includes the modification time of this file, because two builds of one version can have the same size. */
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
 * missing there. Two versions of a bundle still get different identifiers, because the size or time of the bundle's
 * file differs.
 */
function readVersion(): string {
  try {
    const { version } = createRequire(import.meta.url)('@skillstoke/core/package.json') as { version: string }
    return version
  } catch {
    return 'bundled'
  }
}
