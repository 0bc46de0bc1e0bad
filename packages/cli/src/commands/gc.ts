import { collectGarbage } from '@skillstoke/core/node'
import { removeCodeCache } from '../config/code-cache.ts'
import type { Config } from '../config/config.ts'
import { EXIT_OK } from '../exit-code.ts'
import { printJson, printLine } from '../output.ts'

export interface GcFlags {
  readonly json: boolean
  readonly isDryRun: boolean
  /** Steps in the history of one skill whose files are kept. */
  readonly keep?: number
}

/** `stoke gc`: frees the disk of what the state directory keeps and nothing needs. */
export async function gc({ stateDirectory }: Config, { json, isDryRun, keep }: GcFlags): Promise<number> {
  const done = await collectGarbage(stateDirectory, {
    isDryRun,
    ...(keep === undefined ? {} : { keepRevisions: keep }),
  })
  if (!isDryRun) removeCodeCache(stateDirectory)
  if (json) {
    printJson(done)
    return EXIT_OK
  }
  if (done.indexDamage !== undefined) {
    printLine(
      `${done.indexDamage}; ${isDryRun ? 'stoke gc moves them aside' : 'what is missing is stored again at the next start, so nothing else was removed'}`,
    )
    return EXIT_OK
  }
  const { forgotten, trees, blobs, damaged, freedBytes, keptBytes } = done
  const verb = isDryRun ? 'would be' : 'are'
  printLine(
    `${forgotten} older steps ${verb} listed without their files; ${trees} revisions and ${blobs} files ${verb} gone; ${toSize(freedBytes)} ${isDryRun ? 'would be ' : ''}free, ${toSize(keptBytes)} kept`,
  )
  if (damaged > 0)
    printLine(
      `${damaged} stored files ${damaged === 1 ? 'was' : 'were'} damaged and ${isDryRun ? 'would be' : 'are'} forgotten; they are read again from their source when they are needed`,
    )
  return EXIT_OK
}

function toSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
