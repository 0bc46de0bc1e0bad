import {
  checkChoice,
  checkNumber,
  checkOptions,
  defined,
  type KnownOptions,
  LONGEST_TIMER_MS,
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

const KNOWN: KnownOptions<ScriptRunnerOptions> = {
  sandbox: true,
  workspace: true,
  protectedPaths: true,
  hiddenPaths: true,
  directory: true,
  env: true,
  maxProcesses: true,
  maxIdleProcesses: true,
  idleMs: true,
  reserveMs: true,
  loadTimeoutMs: true,
  drainMs: true,
  limits: true,
}

const KNOWN_LIMITS: KnownOptions<OutputLimits> = { stdout: true, stderr: true }

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
  checkOptions('childProcesses()', options.limits, KNOWN_LIMITS, { path: 'limits' })
  checkChoice('sandbox', options.sandbox, SANDBOX_MODES)
  for (const [name, least] of Object.entries(LEAST))
    checkNumber(name, options[name as keyof typeof LEAST], least, LONGEST_TIMER_MS)
  for (const name of ['stdout', 'stderr'] as const)
    checkNumber(name, options.limits?.[name], 0, LONGEST_TIMER_MS)
  return {
    ...DEFAULT_SCRIPT_RUNNER_OPTIONS,
    env: process.env,
    ...defined(options),
    limits: { ...DEFAULT_OUTPUT_LIMITS, ...defined(options.limits ?? {}) },
  }
}

/** Minimum of each numeric option. All numeric options have the same maximum: the longest delay of a timer. */
const LEAST = {
  maxProcesses: 1,
  maxIdleProcesses: 0,
  idleMs: 0,
  reserveMs: 0,
  loadTimeoutMs: 0,
  drainMs: 0,
} as const satisfies Record<Exclude<keyof ScriptRunnerDefaults, 'sandbox'>, number>
