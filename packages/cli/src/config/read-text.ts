import { readFileSync } from 'node:fs'
import { toMessage } from '@skillstoke/core/internal'
import { UsageError } from '../terminal/exit-code.ts'

/** Does work whose failure ends the command. @throws {UsageError} with the fault and its reason */
export function orFail<T>(fault: string, work: () => T): T {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof UsageError) throw thrown
    throw new UsageError(`${fault}: ${toMessage(thrown)}`, { cause: thrown })
  }
}

/** Reads a text file. @throws {UsageError} if the file is missing or cannot be read */
export function readText(path: string, fault: string): string {
  return orFail(fault, () => readFileSync(path, 'utf8'))
}

/** Reads a text file. Returns `undefined` if the file does not exist. @throws {UsageError} if it cannot be read */
export function readIfThere(path: string, fault: string): string | undefined {
  try {
    return readText(path, fault)
  } catch (thrown) {
    if (((thrown as Error).cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw thrown
  }
}
