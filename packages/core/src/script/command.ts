import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { CommandHints } from './define-command.ts'

/** A command of a skill, as callers see it. */
export interface SkillCommand {
  /** The address of the command: `skill.name`. */
  readonly id: string
  readonly skill: string
  readonly name: string
  readonly description: string
  /** JSON Schema of the input object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** True if the schema was read by running the script in its sandbox. */
  readonly isDynamic: boolean
  readonly hints: CommandHints
  /** The file that exports the command, relative to the folder of the skill. */
  readonly path: string
  /** Counted from 1. Absent if the command was found by loading the script, not by the scan. */
  readonly line?: number
  /** Digest of that file. */
  readonly digest: Digest
}

/** A command that a scan found without running code. */
export interface ScannedCommand extends Omit<SkillCommand, 'inputSchema' | 'isDynamic'> {
  /** Absent if the schema is not a literal. */
  readonly inputSchema?: Readonly<Record<string, unknown>>
  /** The export name of the command in its file. */
  readonly exportName: string
}

export interface ScriptScan {
  /** Sorted by name. */
  readonly commands: readonly ScannedCommand[]
  /** The files that export commands, in the order in which they are loaded. */
  readonly modules: readonly string[]
  /** The files that export commands, and every file of the skill that such a file imports with a literal path. */
  readonly sources: readonly string[]
  /** True if the scan found every command and every schema, so the commands can be listed without running code. */
  readonly isComplete: boolean
  readonly diagnostics: readonly Diagnostic[]
}

/** A file that a scan reads. */
export interface ScriptText {
  /** Relative to the folder of the skill. */
  readonly path: string
  readonly text: string
  readonly digest: Digest
}

/** Returns a command that copies its schema at each access, because some validators modify the schema they receive. */
export function withOwnSchema({ inputSchema, ...rest }: SkillCommand): SkillCommand {
  return Object.freeze({
    ...rest,
    get inputSchema() {
      return structuredClone(inputSchema)
    },
  })
}

const MODULE = /\.(?:ts|mts|js|mjs)$/

/** True if a module may import this file. A scan needs only the texts of such files. */
export function mayBeImported(path: string): boolean {
  return /\.(?:[mc]?[jt]s|json)$/.test(path)
}

/** True if a path is a module that must not export commands, for example a test. */
export function isHelperModule(path: string): boolean {
  return MODULE.test(path) && !mayExportCommands(path)
}

/**
 * True if a file may export commands. Such a file is a module below `scripts/` that is neither private nor a test nor a
 * type declaration.
 */
export function mayExportCommands(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return (
    path.startsWith('scripts/') &&
    MODULE.test(name) &&
    !name.startsWith('_') &&
    !/\.(?:test|spec|d)\.[a-z]+$/.test(name) &&
    !path.includes('/node_modules/')
  )
}

/** The skill name and the command name in `skill.command`. */
export interface CommandAddress {
  readonly skill: string
  readonly command: string
}

/** Splits `skill.command` at its last dot. Returns `undefined` if a part is missing. */
export function splitCommandId(id: string): CommandAddress | undefined {
  if (typeof id !== 'string') return undefined
  const dot = id.lastIndexOf('.')
  if (dot <= 0 || dot === id.length - 1) return undefined
  return { skill: id.slice(0, dot), command: id.slice(dot + 1) }
}
