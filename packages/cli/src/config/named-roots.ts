import { opendirSync } from 'node:fs'
import { toMessage } from '@skillstoke/core/internal'
import { UsageError } from '../terminal/exit-code.ts'
import type { Config } from './config.ts'

/**
 * Throws if a root that the command line or the environment names does not exist, because its path may be mistyped.
 * @param options.allowsUnreadable set by commands that report unreadable roots themselves. @default false
 * @throws {UsageError} for the first root that does not exist or cannot be read
 */
export function checkNamedRoots(
  { roots, areRootsOfFile }: Pick<Config, 'roots' | 'areRootsOfFile'>,
  { allowsUnreadable = false }: { readonly allowsUnreadable?: boolean } = {},
): void {
  if (areRootsOfFile) return
  for (const { path } of roots.filter(({ isNamed }) => isNamed)) {
    try {
      opendirSync(path).closeSync()
    } catch (thrown) {
      const shown = `the folder ${JSON.stringify(path)}`
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT')
        throw new UsageError(`${shown} does not exist; create it, or name another folder`, { cause: thrown })
      if (!allowsUnreadable)
        throw new UsageError(`${shown} cannot be read: ${toMessage(thrown)}`, { cause: thrown })
    }
  }
}
