import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type NewSkill, renderNewSkill } from '@skillstoke/author'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { nearPath } from '../terminal/output.ts'

/**
 * Returns the folder of a new skill. @throws {SkillError} INVALID_OPTION when the name cannot be used, or the folder exists
 */
export function planNewSkill(root: string, name: string): string {
  renderNewSkill({ name, description: 'Checks a name. Use when a name is checked.' })
  const folder = resolve(root, name)
  if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined)
    throw new SkillError('INVALID_OPTION', `${nearPath(folder)} exists already; choose another name`)
  return folder
}

/** Writes a skill and a file for its tests into a new folder. @throws {SkillError} INVALID_OPTION, IO_FAILED */
export function writeNewSkill(
  root: string,
  skill: NewSkill,
): { readonly folder: string; readonly paths: readonly string[] } {
  const folder = planNewSkill(root, skill.name)
  const files = renderNewSkill(skill)
  try {
    for (const { path, text } of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text, { flag: 'wx' })
    }
  } catch (cause) {
    throw new SkillError('IO_FAILED', `${nearPath(folder)} cannot be written: ${toMessage(cause)}`, { cause })
  }
  return { folder, paths: files.map(({ path }) => path) }
}
