import type { ScriptCapability } from '../skill/capabilities.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { ToolProgress } from '../tool/tool-definition.ts'
import type { ScriptScan, ScriptText, SkillCommand } from './command.ts'

/** The code of one revision of a skill. Its files never change. */
export interface ScriptProgram {
  readonly skill: string
  readonly revision: Digest
  readonly files: readonly SkillFile[]
  /** @throws {SkillError} REVISION_NOT_FOUND */
  readonly readFile: (path: string) => Promise<Uint8Array>
  /** The capabilities that the code may use. */
  readonly grants: readonly ScriptCapability[]
}

/** The progress of a command. */
export type CommandProgress = ToolProgress

/** A line that a script wrote to stdout, to stderr or with `log`. */
export interface ScriptLine {
  readonly stream: 'log' | 'stdout' | 'stderr'
  readonly text: string
}

/** Default time limit of a call in milliseconds, if the caller gives no `timeoutMs`. */
export const DEFAULT_CALL_MS = 30_000

/** The largest `timeoutMs` of a call, in milliseconds. */
export const LONGEST_CALL_MS = 600_000

export interface ScriptRunOptions {
  /** Aborts the run. The call rejects with `signal.reason`. */
  readonly signal?: AbortSignal
  /** Time limit in milliseconds, at most 600,000. @default 30,000 */
  readonly timeoutMs?: number
  readonly onProgress?: (progress: CommandProgress) => void
  readonly onLine?: (line: ScriptLine) => void
}

/** The commands of one revision, loaded and checked. */
export interface LoadedProgram {
  readonly revision: Digest
  /** Sorted by name. */
  readonly commands: readonly SkillCommand[]
  /**
   * Runs a command. Concurrent calls never share a process.
   * @throws {SkillError} INPUT_INVALID, SCRIPT_FAILED, TIMED_OUT, TOO_LARGE; CLOSED after `close`
   */
  call(command: string, input: unknown, options?: ScriptRunOptions): Promise<unknown>
  /** Accepts no more calls. Running calls may continue until `withinMs` has passed. Resolves when no process is left. */
  close(options?: { readonly withinMs?: number }): Promise<void>
}

export type ProgramLoad =
  | { readonly kind: 'loaded'; readonly program: LoadedProgram }
  | { readonly kind: 'failed'; readonly diagnostics: readonly Diagnostic[] }

/** The result of a script that was started as a file, not as a command. */
export interface ScriptFileRun {
  /** Absent if a signal ended the process. */
  readonly exitCode?: number
  readonly signal?: string
  /** The output on stdout, cut at the size limit. */
  readonly stdout: string
  readonly stderr: string
  /** True if the script wrote more than the size limit. */
  readonly isTruncated: boolean
}

/** How the machine is protected against scripts. */
export interface ScriptContainment {
  /** `permissions`: the JavaScript runtime restricts scripts. `sandbox`: the operating system also restricts scripts. */
  readonly kind: 'permissions' | 'sandbox'
  /** Describes the protection to people. If the protection is weaker than a sandbox, explains the reason. */
  readonly detail: string
}

export interface ProgramLoadOptions {
  /** False for background loads, which wait in a queue so that they do not delay urgent loads. @default true */
  readonly isUrgent?: boolean
  /** Aborts the load. The load then fails. */
  readonly signal?: AbortSignal
}

/** Runs the code of skills in other processes than the host process. */
export interface ScriptRunner {
  /** Returns the protection that is in effect on this machine. */
  containment(): Promise<ScriptContainment>
  /**
   * Finds commands without running code. `known` lists files that had commands before, even if these files are broken
   * now. After the signal has aborted, the caller ignores the result.
   */
  scan(
    skill: string,
    files: readonly ScriptText[],
    known?: readonly string[],
    signal?: AbortSignal,
  ): Promise<ScriptScan>
  /** Loads and checks the modules of a scan. Faults of a script are returned as diagnostics, not thrown. */
  load(program: ScriptProgram, scan: ScriptScan, options?: ProgramLoadOptions): Promise<ProgramLoad>
  /** True if the path of a file looks like a program that `runFile` can run. */
  mayRun(path: string): boolean
  /**
   * Runs a file with its interpreter.
   * @throws {SkillError} FILE_NOT_FOUND; SCRIPT_REFUSED when the interpreter is unknown, or when nothing restricts the script
   * and `exec` is not granted; TIMED_OUT
   */
  runFile(
    program: ScriptProgram,
    path: string,
    args: readonly string[],
    options?: ScriptRunOptions,
  ): Promise<ScriptFileRun>
  /** Ends everything that runs. Idempotent. */
  close(): Promise<void>
}
