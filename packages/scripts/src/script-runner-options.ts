import { SkillError } from '@skillstoke/core'
import { checkOptions, type KnownOptions } from '@skillstoke/core/internal'
import type { OutputLimits } from './process/output.ts'
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
  maxCalls: 1_000,
  loadTimeoutMs: 5_000,
  drainMs: 30_000,
})

/** @throws {SkillError} INVALID_OPTION */
export function checkScriptRunnerOptions(options: ScriptRunnerOptions): void {
  checkOptions('childProcesses()', options, KNOWN)
  checkOptions('childProcesses()', options.limits, KNOWN_LIMITS, { path: 'limits' })
  const {
    sandbox,
    workspace: _w,
    protectedPaths: _p,
    hiddenPaths: _h,
    directory: _d,
    env: _e,
    limits = {},
    ...numbers
  } = options
  const refuse = (name: string, value: unknown, right: string): never => {
    throw new SkillError('INVALID_OPTION', `${name} is ${JSON.stringify(value)}; use ${right}`)
  }
  if (sandbox !== undefined && !SANDBOX_MODES.includes(sandbox))
    refuse('sandbox', sandbox, `one of ${SANDBOX_MODES.map(mode => JSON.stringify(mode)).join(', ')}`)
  for (const [name, value] of Object.entries({ ...numbers, ...limits }))
    if (typeof value !== 'number' || !(value >= 0 && value <= MAX_OPTION))
      refuse(name, value, `a number from 0 to ${MAX_OPTION}`)
  for (const name of ['maxProcesses', 'maxCalls'] as const)
    if (numbers[name] !== undefined && numbers[name] < 1) refuse(name, numbers[name], 'a number from 1 on')
}

const MAX_OPTION = 2 ** 31 - 1
