import {
  checkChoice,
  checkNumber,
  checkOptions,
  type KnownOptions,
  LONGEST_TIMER_MS,
} from '@skillstoke/core/internal'
import { DEFAULT_OUTPUT_LIMITS, type OutputLimits } from './process/output.ts'
import { SANDBOX_MODES, type SandboxMode } from './process/sandbox.ts'

export interface ScriptRunnerOptions {
  /** Whether the operating system contains scripts besides the permissions of Node. @default 'auto' */
  readonly sandbox?: SandboxMode
  /** What `fs.read` and `fs.write` without a path are about. @default the working directory */
  readonly workspace?: string
  /**
   * Files and folders that no script may write to, whatever is granted, as folders of skills. A grant of a folder around one of
   * them is refused, too. Hooks of git and the settings of agents and editors are always among them. @default none
   */
  readonly protectedPaths?: readonly string[]
  /**
   * Files and folders that no script may see, whatever is granted: state directories, and files of configuration that say
   * whom to trust. A sandbox leaves them out; without one, a grant of a folder around them is refused. The default state
   * directory is always one of them. @default none
   */
  readonly hiddenPaths?: readonly string[]
  /** Where revisions are written for processes to read. @default a folder for temporary files */
  readonly directory?: string
  /** Where granted variables are taken from, and `PATH`. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** How many calls of one skill run at the same time; others wait. @default 4 */
  readonly maxProcesses?: number
  /** How many processes of all skills are kept that do nothing. @default 8 */
  readonly maxIdleProcesses?: number
  /** How long they are kept, in milliseconds. @default 60,000 */
  readonly idleMs?: number
  /**
   * How long a process that knows no skill is kept in reserve after the last edit of a script, in milliseconds; 0 for none. It
   * is started with the first edit, so a host whose scripts nobody edits has none. @default 180,000
   */
  readonly reserveMs?: number
  /** After how many calls a process is replaced. @default 1,000 */
  readonly maxCalls?: number
  /** How long the modules of a skill may take to load, in milliseconds. @default 5,000 */
  readonly loadTimeoutMs?: number
  /** How long calls may go on after newer code has taken the place of theirs, in milliseconds. @default 30,000 */
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
  maxCalls: true,
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
  maxCalls: 1_000,
  loadTimeoutMs: 5_000,
  drainMs: 30_000,
})

/** The options of a runner with their defaults. An option that is `undefined` has its default, too. */
export type ResolvedScriptRunnerOptions = Omit<ScriptRunnerOptions, 'limits'> &
  Readonly<ScriptRunnerDefaults> & { readonly limits: OutputLimits }

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
    ...omitUndefined(options),
    limits: { ...DEFAULT_OUTPUT_LIMITS, ...omitUndefined(options.limits ?? {}) },
  }
}

/** The smallest value of each number; the largest one is the longest delay of a timer. */
const LEAST = {
  maxProcesses: 1,
  maxIdleProcesses: 0,
  idleMs: 0,
  reserveMs: 0,
  maxCalls: 1,
  loadTimeoutMs: 0,
  drainMs: 0,
} as const satisfies Record<Exclude<keyof ScriptRunnerDefaults, 'sandbox'>, number>

function omitUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
}
