import type { ScriptCapability } from '../skill/capabilities.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { ScriptScan, ScriptText, SkillCommand } from './command.ts'

/** One revision of a skill as code: the same files whatever is written meanwhile. */
export interface ScriptProgram {
  readonly skill: string
  readonly revision: Digest
  readonly files: readonly SkillFile[]
  /** @throws {SkillError} REVISION_NOT_FOUND */
  readonly readFile: (path: string) => Promise<Uint8Array>
  /** What it may do beyond computing. */
  readonly grants: readonly ScriptCapability[]
}

/** How far the work of a command is. */
export interface CommandProgress {
  readonly done: number
  /** In the same unit; absent when nobody knows. */
  readonly total?: number
  readonly message?: string
}

/** A line that a script wrote: to an output, or with `log`. */
export interface ScriptLine {
  readonly stream: 'log' | 'stdout' | 'stderr'
  readonly text: string
}

/** How long a call may take without a `timeoutMs`, in milliseconds. */
export const DEFAULT_CALL_MS = 30_000

/** The largest `timeoutMs` of a call. */
export const LONGEST_CALL_MS = 600_000

export interface ScriptRunOptions {
  /** Ends the work; its reason is thrown. */
  readonly signal?: AbortSignal
  /** How long it may take, in milliseconds, at most 600,000. @default 30,000 */
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
   * Runs a command. Calls share no process at the same time.
   * @throws {SkillError} INPUT_INVALID, SCRIPT_FAILED, TIMED_OUT, TOO_LARGE; CLOSED after `close`
   */
  call(command: string, input: unknown, options?: ScriptRunOptions): Promise<unknown>
  /** Takes no more calls, lets those under way end, or ends them after a while; resolves when nothing of it is left. */
  close(options?: { readonly withinMs?: number }): Promise<void>
}

export type ProgramLoad =
  | { readonly kind: 'loaded'; readonly program: LoadedProgram }
  | { readonly kind: 'failed'; readonly diagnostics: readonly Diagnostic[] }

/** What a script that is no command left behind. */
export interface ScriptFileRun {
  /** Absent when a signal ended it. */
  readonly exitCode?: number
  readonly signal?: string
  /** Everything it wrote, up to the limit. */
  readonly stdout: string
  readonly stderr: string
  /** Whether there was more than is kept. */
  readonly isTruncated: boolean
}

/** What keeps scripts from the rest of the machine. */
export interface ScriptContainment {
  /** `permissions`: those of the JavaScript runtime. `sandbox`: the operating system's, too. */
  readonly kind: 'permissions' | 'sandbox'
  /** For people: what it is, or why there is no more. */
  readonly detail: string
}

export interface ProgramLoadOptions {
  /** False for background loads, which are queued so they do not delay others. @default true */
  readonly isUrgent?: boolean
  /** Ends it; it has failed then. */
  readonly signal?: AbortSignal
}

/** Runs the code of skills, never in the process of the host. */
export interface ScriptRunner {
  /** What stands between scripts and this machine. */
  containment(): Promise<ScriptContainment>
  /**
   * Finds commands without running anything. `known` are the files that had some before, and may be broken now. Nobody wants
   * the result after the signal.
   */
  scan(
    skill: string,
    files: readonly ScriptText[],
    known?: readonly string[],
    signal?: AbortSignal,
  ): Promise<ScriptScan>
  /** Loads and checks the modules of a scan; what is wrong with somebody's script is told, not thrown. */
  load(program: ScriptProgram, scan: ScriptScan, options?: ProgramLoadOptions): Promise<ProgramLoad>
  /** Whether a file may be a program that `runFile` knows, as far as its path tells. */
  mayRun(path: string): boolean
  /**
   * Runs a file with its interpreter.
   * @throws {SkillError} FILE_NOT_FOUND; SCRIPT_REFUSED when nothing would contain it and `exec` is not granted, or nobody
   * knows how to run it; TIMED_OUT
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
