import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { CommandHints } from './define-command.ts'

/** A command that a skill offers, as callers see it. */
export interface Command {
  /** `skill.name`: how it is addressed. */
  readonly id: string
  readonly skill: string
  readonly name: string
  readonly description: string
  /** JSON Schema of the input object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** Whether the schema could only be read by running the script, in its sandbox. */
  readonly isDynamic: boolean
  readonly hints: CommandHints
  /** The file that exports it, relative to the folder of the skill. */
  readonly path: string
  /** Counted from 1; absent when only the loaded script knows of it. */
  readonly line?: number
  /** Digest of that file. */
  readonly digest: Digest
}

/** What a scan finds without running anything. */
export interface ScannedCommand extends Omit<Command, 'inputSchema' | 'isDynamic'> {
  /** Absent when it is no literal. */
  readonly inputSchema?: Readonly<Record<string, unknown>>
  /** The name under which the file exports it. */
  readonly exportName: string
}

export interface ScriptScan {
  /** Sorted by name. */
  readonly commands: readonly ScannedCommand[]
  /** The files that export commands, in the order in which they are loaded. */
  readonly modules: readonly string[]
  /** These and every file of the skill that they import, as far as that is written down. */
  readonly sources: readonly string[]
  /** Whether all there is to know of the commands is known. */
  readonly isComplete: boolean
  readonly diagnostics: readonly Diagnostic[]
}

/** A file as a scan reads it, from a disk or not. */
export interface ScriptText {
  /** Relative to the folder of the skill. */
  readonly path: string
  readonly text: string
  readonly digest: Digest
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** What is wrong with the name of a command, if anything is. */
export function checkCommandName(name: unknown): string | undefined {
  if (typeof name === 'string' && NAME.test(name)) return undefined
  return `the name of the command is ${JSON.stringify(name)}; use 1 to 64 letters, digits, "_" and "-"`
}

const MODULE = /\.(?:ts|mts|js|mjs)$/

/** Whether a file may be a module with commands: below `scripts/`, and neither private, nor a test, nor declarations. */
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

/** Splits `skill.command` where the name of the command begins; `undefined` when there is none. */
export function splitCommandId(id: string): { readonly skill: string; readonly command: string } | undefined {
  const dot = id.lastIndexOf('.')
  if (dot <= 0 || dot === id.length - 1) return undefined
  return { skill: id.slice(0, dot), command: id.slice(dot + 1) }
}
