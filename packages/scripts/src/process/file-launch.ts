import { delimiter } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import type { ScriptContainment } from '@skillstoke/core/source'
import { findInterpreter } from './interpreter.ts'
import { type Launch, SYSTEM_PATH, toNodeLaunch, type View } from './launch.ts'
import { findProgram } from './sandbox.ts'

export interface FileToLaunch {
  /** Folder that contains the files of the skill. */
  readonly folder: string
  readonly bytes: Uint8Array
  readonly view: View
  readonly containment: ScriptContainment
  /** `PATH` of the host. */
  readonly path: string | undefined
}

/**
 * Returns the command that runs a file, and the folders that are searched for programs.
 * @throws {SkillError} SCRIPT_REFUSED when no interpreter is known or found, or when nothing would confine the
 * interpreter and `exec` is not granted
 */
export async function toFileLaunch(
  path: string,
  args: readonly string[],
  { folder, bytes, view, containment, path: hostPath }: FileToLaunch,
): Promise<{ readonly launch: Launch; readonly searched: readonly string[] }> {
  const absolute = `${folder}/${path}`
  const interpreter = findInterpreter(path, bytes)
  const shown = quote(path)
  if (interpreter === undefined)
    throw new SkillError(
      'SCRIPT_REFUSED',
      `${shown} cannot be run: its name has no known ending, and its first line names no interpreter`,
    )
  if (interpreter.kind === 'refused')
    throw new SkillError('SCRIPT_REFUSED', `${shown} cannot be run: ${interpreter.reason}`)
  if (interpreter.kind === 'node')
    return { launch: toNodeLaunch([...interpreter.args, absolute, ...args], view), searched: SYSTEM_PATH }
  if (containment.kind !== 'sandbox' && !view.access.hasPrograms)
    throw new SkillError(
      'SCRIPT_REFUSED',
      `${shown} would run with your rights and without containment (${containment.detail}); grant "exec" to the skill if you trust it`,
    )
  const searched = containment.kind === 'sandbox' ? SYSTEM_PATH : (hostPath?.split(delimiter) ?? SYSTEM_PATH)
  for (const name of interpreter.names) {
    const program = await findProgram(name, searched)
    if (program !== undefined)
      return { launch: { command: program, args: [...interpreter.args, absolute, ...args] }, searched }
  }
  throw new SkillError(
    'SCRIPT_REFUSED',
    `${interpreter.names.join(' or ')} is needed to run ${shown}, but is not in ${searched.join(delimiter)}`,
  )
}
