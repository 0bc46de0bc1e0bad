import {
  checkOptions,
  defined,
  type KnownOptions,
  LONGEST_TIMER_MS,
  number,
  oneOf,
} from '@skillstoke/core/internal'
import { DEFAULT_OUTPUT_LIMITS, type OutputLimits } from './process/output.ts'
import { SANDBOX_MODES, type SandboxMode } from './process/sandbox.ts'

export interface ScriptRunnerOptions {
  /** Whether a sandbox of the operating system restricts scripts, in addition to Node's permissions. @default 'auto' */
  readonly sandbox?: SandboxMode
  /** Folder that `fs.read` and `fs.write` grant if they name no path. @default the working directory */
  readonly workspace?: string
  /**
   * Files and folders that no script may write to, even if a grant allows it, for example skill folders. Grants to
   * write to the parent folders of these paths are also refused. Git hooks and the settings of agents and editors are
   * always protected. @default none
   */
  readonly protectedPaths?: readonly string[]
  /**
   * Files and folders that no script may see, even if a grant allows it. Examples are state
   * directories, and configuration files that decide which sources are trusted. Inside a sandbox, hidden paths do not exist. Without a sandbox, grants for parent folders of hidden paths
   * are refused. The default state directory is always hidden. @default none
   */
  readonly hiddenPaths?: readonly string[]
  /** Folder into which the host writes revisions of skills, so that processes can read them. @default a folder for temporary files */
  readonly directory?: string
  /** Environment that contains `PATH` and the variables that can be granted. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Maximum number of simultaneous calls per skill; further calls wait. @default 4 */
  readonly maxProcesses?: number
  /** Maximum number of idle processes, for all skills together. @default 8 */
  readonly maxIdleProcesses?: number
  /** How long an idle process is kept, in milliseconds. @default 60,000 */
  readonly idleMs?: number
  /**
   * How long a reserve process without a skill is kept after the last edit of a script, in milliseconds. With 0, there
   * is no reserve process. The first edit starts the process, so a host whose scripts never change has no reserve
   * process.
   * @default 180,000
   */
  readonly reserveMs?: number
  /** Time limit for loading the modules of a skill, in milliseconds. @default 5,000 */
  readonly loadTimeoutMs?: number
  /**
   * After new code has replaced old code, running calls may continue for this time, in milliseconds. @default 30,000
   */
  readonly drainMs?: number
  readonly limits?: Partial<OutputLimits>
}

const LIMIT = number(0, LONGEST_TIMER_MS)
const LIMITS: KnownOptions<OutputLimits> = { stdout: LIMIT, stderr: LIMIT }

const KNOWN: KnownOptions<ScriptRunnerOptions> = {
  sandbox: oneOf(SANDBOX_MODES),
  workspace: true,
  protectedPaths: true,
  hiddenPaths: true,
  directory: true,
  env: true,
  maxProcesses: number(1, LONGEST_TIMER_MS),
  maxIdleProcesses: LIMIT,
  idleMs: LIMIT,
  reserveMs: LIMIT,
  loadTimeoutMs: LIMIT,
  drainMs: LIMIT,
  limits: LIMITS,
}

export type ScriptRunnerDefaults = Required<
  Omit<ScriptRunnerOptions, 'workspace' | 'protectedPaths' | 'hiddenPaths' | 'directory' | 'env' | 'limits'>
>

export const DEFAULT_SCRIPT_RUNNER_OPTIONS: Readonly<ScriptRunnerDefaults> = Object.freeze({
  sandbox: 'auto',
  maxProcesses: 4,
  maxIdleProcesses: 8,
  idleMs: 60_000,
  reserveMs: 180_000,
  loadTimeoutMs: 5_000,
  drainMs: 30_000,
})

/** Options of a runner after defaults were applied. An option that is missing or `undefined` has its default. */
export type ResolvedScriptRunnerOptions = Omit<ScriptRunnerOptions, 'limits'> &
  Readonly<ScriptRunnerDefaults & Required<Pick<ScriptRunnerOptions, 'env'>>> & {
    readonly limits: OutputLimits
  }

/** @throws {SkillError} INVALID_OPTION */
export function resolveScriptRunnerOptions(options: ScriptRunnerOptions): ResolvedScriptRunnerOptions {
  checkOptions('childProcesses()', options, KNOWN)
  return {
    ...DEFAULT_SCRIPT_RUNNER_OPTIONS,
    env: process.env,
    ...defined(options),
    limits: { ...DEFAULT_OUTPUT_LIMITS, ...defined(options.limits ?? {}) },
  }
}
