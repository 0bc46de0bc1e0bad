import { SkillError } from '../errors.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { ScriptFileRun, ScriptRunOptions } from '../script/script-runner.ts'
import type { Digest } from '../skill/digest.ts'

/** A command or a script with its arguments. */
export type RunTarget =
  | { readonly skill: string; readonly id: string; readonly input: unknown }
  | { readonly skill: string; readonly path: string; readonly args: readonly string[] }

/** What a command or a script returned, or how it failed. */
export interface RunOutcome {
  /** Revision of the code that ran. Null if no code was started. */
  readonly revision: Digest | null
  /** False if the command failed, or the script exited with another code than 0. */
  readonly ok: boolean
  /** Value of a command. */
  readonly value?: unknown
  /** Exit code of a script. Null if a signal ended the script. */
  readonly exitCode?: number | null
  readonly stdout?: string
  readonly stderr?: string
  readonly error?: { readonly code: string; readonly message: string }
}

/** Codes of errors that are caused by the request and not by the script. */
export const USAGE_CODES: readonly string[] = [
  'INPUT_INVALID',
  'COMMAND_NOT_FOUND',
  'SKILL_NOT_FOUND',
  'FILE_NOT_FOUND',
  'SCRIPT_REFUSED',
]

/** Runs a command or a script once. A failure of the script becomes part of the outcome. */
export async function runTarget(
  target: RunTarget,
  skills: SkillRuntime,
  options: ScriptRunOptions,
): Promise<RunOutcome> {
  const { scripts } = skills
  try {
    if ('id' in target) {
      const { value, revision } = await scripts.execute(target.id, target.input, options)
      return { ok: true, revision, value: value ?? null }
    }
    const { revision, ...run } = await scripts.run(target.skill, target.path, target.args, options)
    return { ok: run.exitCode === 0, revision, ...toKept(run) }
  } catch (thrown) {
    if (!SkillError.isInstance(thrown)) throw thrown
    const { code, message, data } = thrown
    // If a script succeeded but left what no script may leave, its result is in the error.
    const kept = data['result'] as Parameters<typeof toKept>[0] | undefined
    const revision = USAGE_CODES.includes(code) ? null : findRevision(target, skills)
    return { ...(kept === undefined ? {} : toKept(kept)), ok: false, revision, error: { code, message } }
  }
}

function toKept(
  result: { readonly value: unknown } | Pick<ScriptFileRun, 'exitCode' | 'stdout' | 'stderr'>,
): Pick<RunOutcome, 'value' | 'exitCode' | 'stdout' | 'stderr'> {
  if (!('stdout' in result)) return { value: result.value ?? null }
  const { exitCode, stdout, stderr } = result
  return { exitCode: exitCode ?? null, stdout, stderr }
}

/** Returns the revision of the code that failed. */
function findRevision(target: RunTarget, { current, scripts }: SkillRuntime): Digest | null {
  const revision =
    'id' in target
      ? scripts.status().find(each => each.skill === target.skill)?.revision
      : current.find(target.skill)?.revision
  return revision ?? null
}
