import { type Skill as CoreSkill, renderSkillText } from '@skillstoke/core'
import type { ReadingPolicy } from '@skillstoke/core/source'
import { Skill, type SkillFields } from './skill.ts'

/** An object with Exo's fields for a skill; it need not be an instance of `Skill`. */
export type ExoSkill = Required<SkillFields>

/** A skill as a watcher reports it. Missing fields get defaults. */
export interface WatchedSkill extends Partial<Omit<ExoSkill, 'name' | 'description'>> {
  readonly name: string
  readonly description: string
  /** The instructions. The SKILL.md format calls the instructions `body`; Exo calls them `usage`. @default `usage` */
  readonly body?: string
  /** All files of the folder, including `SKILL.md`. @default a text made from the other fields */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /**
   * Paths of the executable files in `files`.
   * @default in a registered folder, the files that were executable before the event; elsewhere none
   */
  readonly executables?: readonly string[]
}

/** Exo's rules for reading a SKILL.md: every name is valid, and the description may be missing. */
export const EXO_READING: Partial<ReadingPolicy> = Object.freeze({
  names: 'any',
  matchDirectory: 'off',
  description: 'empty',
  keys: 'any-case',
})

/** Converts a skill of the core to Exo's fields. */
export function toExoSkill(skill: CoreSkill, body: string): Skill {
  const { name, description, extra } = skill
  return new Skill({
    name,
    description,
    usage: body,
    toolList: readToolList(extra['tool_list']),
    skillType: typeof extra['type'] === 'string' ? extra['type'] : '',
    active: isActive(skill),
    path: [skill.directory ?? skill.location, skill.skillFile].filter(part => part !== '').join('/'),
  })
}

/** Whether a skill is active: its field `active` is missing or is `true`, in any letter case. */
export function isActive({ extra }: CoreSkill): boolean {
  const active = extra['active']
  return active === undefined || active === true || (typeof active === 'string' && /^true$/i.test(active))
}

/** Returns the files of a skill that a watcher reported. */
export function toFolder(skill: WatchedSkill): NonNullable<WatchedSkill['files']> {
  if (skill.files !== undefined) return skill.files
  const { toolList, skillType, active } = skill
  const fields = {
    ...(toolList === undefined || Object.keys(toolList).length === 0 ? {} : { tool_list: toolList }),
    ...(skillType === undefined || skillType === '' ? {} : { type: skillType }),
    ...(active === undefined || active ? {} : { active }),
  }
  const { name, description, body = skill.usage ?? '' } = skill
  return { 'SKILL.md': renderSkillText({ name, description, body, fields }) }
}

/**
 * Returns the map in the field `tool_list`, which is YAML or a text with JSON. For any other value, returns an empty
 * map.
 */
function readToolList(value: unknown): Readonly<Record<string, unknown>> {
  let list = value
  if (typeof value === 'string') {
    try {
      list = JSON.parse(value)
    } catch {
      return {} // Exo treats a text that is not JSON as an empty map
    }
  }
  return typeof list === 'object' && list !== null && !Array.isArray(list)
    ? (list as Record<string, unknown>)
    : {}
}
