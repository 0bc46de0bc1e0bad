import type { Config } from '../config/config.ts'
import { checkNamedRoots } from '../config/named-roots.ts'
import { describeChanged, inspect } from '../lock/installed.ts'
import { hasLock, LOCK_FILE_NAME, projectFolder, readLock } from '../lock/lock-file.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { formatTable, paint, toTerminalLine } from '../terminal/output.ts'
import { nameProgram } from '../terminal/program-name.ts'

/** Implements `stoke verify`: compares copied skills with the lock file, file by file. Exits with 1 if a copy differs. */
export async function verify(config: Config): Promise<Answer> {
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
  const rows = found.map(({ name, kind, path, changed }) => [
    paint(kind === 'unmodified' ? 'green' : 'red', kind),
    paint('bold', toTerminalLine(name)),
    toTerminalLine(path),
    toTerminalLine(describeChanged({ kind, changed })),
  ])
  return {
    json: found,
    text: () => [
      rows.length > 0
        ? formatTable(rows)
        : nameProgram('this project has no copied skills; see "stoke add --help"'),
    ],
    exit: found.every(({ kind }) => kind === 'unmodified') ? EXIT_OK : EXIT_FINDINGS,
  }
}
