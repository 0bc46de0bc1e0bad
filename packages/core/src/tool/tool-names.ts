import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'

/** The names by which models call the tools of this library. */
export const TOOL_NAMES = {
  /** The default of `skillToolName`. */
  loadSkill: 'skill',
  readFile: 'read_skill_file',
  runCommand: 'run_skill_command',
  runScript: 'run_skill_script',
  writeFile: 'write_skill_file',
  reloadSkills: 'reload_skills',
  reloadScripts: 'skill_reload',
  unloadScripts: 'skill_unload',
} as const

/** The tools that run scripts of skills. */
export const SCRIPT_TOOL_NAMES: readonly string[] = [TOOL_NAMES.runCommand, TOOL_NAMES.runScript]

const { loadSkill, ...OTHERS } = TOOL_NAMES
const TAKEN_NAMES: readonly string[] = Object.values(OTHERS)

/** @throws {SkillError} INVALID_OPTION for a name that no tool may have, or that another tool of this library has */
export function checkSkillToolName(name: string = loadSkill): void {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name) && !TAKEN_NAMES.includes(name)) return
  throw new SkillError(
    'INVALID_OPTION',
    `skillToolName is ${quote(name)}; use a name of its own, of letters, digits, "_" and "-"`,
  )
}
