import { type Skill as CoreSkill, type LoadedSkill, renderSkillText } from '@skillstoke/core'
import type { FileContents, ReadingPolicy } from '@skillstoke/core/source'
import { Skill, type SkillFields } from './skill.ts'

/** A skill as Exo has it, of whatever class. */
export type ExoSkill = Required<SkillFields>

/** What a watcher may say of a skill: the rest is filled in. */
export interface WatchedSkill extends Partial<Omit<ExoSkill, 'name' | 'description'>> {
  readonly name: string
  readonly description: string
  /** The instructions, under their name in the format. @default `usage` */
  readonly body?: string
  /** The whole folder as it is, `SKILL.md` included. @default a text made from the other fields */
  readonly files?: FileContents
}

/** How Exo reads skills: any name, and no description is needed. */
export const EXO_READING: Partial<ReadingPolicy> = Object.freeze({
  names: 'any',
  matchDirectory: 'off',
  description: 'empty',
  keys: 'any-case',
})

/** A skill of the registry in Exo's words. */
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

/** Whether a skill is switched on: the field `active` is missing, or true in whatever spelling. */
export function isActive({ extra }: CoreSkill): boolean {
  const active = extra['active']
  return active === undefined || active === true || (typeof active === 'string' && /^true$/i.test(active))
}

/** The same with its instructions at hand. */
export function fromLoadedSkill(skill: LoadedSkill): Skill {
  return toExoSkill(skill, skill.body)
}

/** The files that a skill of a watcher stands for. */
export function toFolder(skill: WatchedSkill): FileContents {
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

/** A map as YAML has it, or as JSON in a text; anything else is none. */
function readToolList(value: unknown): Readonly<Record<string, unknown>> {
  let list = value
  if (typeof value === 'string') {
    try {
      list = JSON.parse(value)
    } catch {
      return {} // Exo's rule for a text that is no JSON
    }
  }
  return typeof list === 'object' && list !== null && !Array.isArray(list)
    ? (list as Record<string, unknown>)
    : {}
}
