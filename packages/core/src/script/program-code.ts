import type { SkillReader } from '../reader/skill-reader.ts'
import type { ScriptCapability } from '../skill/capabilities.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { Skill } from '../skill/skill.ts'
import { decodeUnmarkedText } from '../skill/text.ts'
import {
  mayBeImported,
  type ScannedCommand,
  type ScriptScan,
  type ScriptText,
  type SkillCommand,
  withOwnSchema,
} from './command.ts'
import type { LoadedProgram, ScriptProgram } from './script-runner.ts'

/** The scripts of one revision, with their grants. */
export interface Code {
  readonly skill: Skill
  readonly program: ScriptProgram
}

/** Code that was scanned without errors. */
export interface ScannedCode extends Code {
  readonly scan: ScriptScan
}

/** Code that accepts calls. */
export interface ServingCode extends ScannedCode {
  readonly commands: readonly SkillCommand[]
  /** The loaded and checked program; undefined until the first call loads it. */
  readonly loaded: LoadedProgram | undefined
}

const EMPTY_SCHEMA = Object.freeze({ type: 'object', properties: {}, additionalProperties: false })

/**
 * Returns code that accepts calls. The commands come from the loaded program, or from the scan if the code was not loaded yet.
 */
export function toServing(code: ScannedCode, loaded: LoadedProgram | undefined): ServingCode {
  const commands = loaded?.commands ?? code.scan.commands.map(toCommand)
  return { ...code, commands: commands.map(withOwnSchema), loaded }
}

function toCommand({ exportName: _name, inputSchema, ...rest }: ScannedCommand): SkillCommand {
  return { ...rest, inputSchema: inputSchema ?? EMPTY_SCHEMA, isDynamic: false }
}

type FileReader = Pick<SkillReader, 'readFile'>

/** Returns the program of a revision. The program gets its files from the reader. */
export function toProgram(
  skill: Skill,
  grants: readonly ScriptCapability[],
  reader: FileReader,
): ScriptProgram {
  return {
    skill: skill.name,
    revision: skill.revision,
    files: skill.files,
    grants,
    readFile: path => reader.readFile(skill, path),
  }
}

/** Reads a file for a scan. The text is empty for a file that no module can import. */
export async function readText(
  reader: FileReader,
  skill: Skill,
  { path, digest }: SkillFile,
): Promise<ScriptText> {
  if (!mayBeImported(path)) return { path, digest, text: '' }
  return { path, digest, text: decodeUnmarkedText(await reader.readFile(skill, path)) }
}
