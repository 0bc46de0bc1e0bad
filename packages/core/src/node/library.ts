import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Names this build of the library: another one may read the same folder differently. */
export const LIBRARY: string = describeLibrary()

/** A build that was made anew without a new version differs in the time of its file. */
function describeLibrary(): string {
  const { version } = createRequire(import.meta.url)('@skillstoke/core/package.json') as { version: string }
  const { mtimeMs, size } = statSync(fileURLToPath(import.meta.url))
  return `${version} ${mtimeMs} ${size}`
}
