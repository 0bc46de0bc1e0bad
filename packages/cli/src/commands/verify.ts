import type { Config } from '../config/config.ts'
import { checkNamedRoots } from '../config/named-roots.ts'
import { describeChanged, inspect } from '../lock/installed.ts'
import { hasLock, LOCK_FILE_NAME, projectFolder, readLock } from '../lock/lock-file.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { formatTable, paint, printJson, printLine, toTerminalLine } from '../terminal/output.ts'
import { nameProgram } from '../terminal/program-name.ts'

/** Implements `stoke verify`: compares copied skills with the lock file, file by file. Exits with 1 if a copy differs. */
export async function verify(config: Config, { json }: { readonly json?: boolean }): Promise<number> {
  checkNamedRoots(config)
  const project = projectFolder(config)
  if (!hasLock(config))
    throw new UsageError(`there is no ${LOCK_FILE_NAME} in ${project}, so there is nothing to compare with`)
  const found = await Promise.all(
    Object.entries(readLock(config)).map(async ([name, locked]) => {
      const { source, version, path, revision } = locked
      const { kind, changed } = await inspect(project, locked)
      return { name, kind, changed, path, source, version, revision }
    }),
  )
  const isFine = found.every(({ kind }) => kind === 'unmodified')
  if (json) printJson(found)
  else if (found.length === 0)
    printLine(nameProgram('this project has no copied skills; see "stoke add --help"'))
  else {
    const rows = found.map(({ name, kind, path, changed }) => [
      paint(kind === 'unmodified' ? 'green' : 'red', kind),
      paint('bold', toTerminalLine(name)),
      toTerminalLine(path),
      toTerminalLine(describeChanged({ kind, changed })),
    ])
    printLine(formatTable(rows))
  }
  return isFine ? EXIT_OK : EXIT_FINDINGS
}
