/** The fields of a skill in Exo. */
export interface SkillFields {
  readonly name: string
  readonly description: string
  /** The instructions. @default '' */
  readonly usage?: string
  /** Tools by group name, from the field `tool_list`. @default {} */
  readonly toolList?: Readonly<Record<string, unknown>>
  /** Kind of the skill: empty for a tool, `agent` for an agent. @default '' */
  readonly skillType?: string
  /** @default true */
  readonly active?: boolean
  /** Path of its SKILL.md. @default '' */
  readonly path?: string
}

/**
 * A skill with Exo's fields. Immutable.
 *
 * @example
 * ```ts
 * import { Skill } from '@skillstoke/compat'
 *
 * const skill = new Skill({ name: 'maps', description: 'Finds routes.', usage: 'Call route.' })
 * console.log(skill.name, skill.active, skill.toolList) // prints maps true {}
 * ```
 */
export class Skill implements Required<SkillFields> {
  readonly name: string
  readonly description: string
  readonly usage: string
  readonly toolList: Readonly<Record<string, unknown>>
  readonly skillType: string
  readonly active: boolean
  readonly path: string

  constructor(fields: SkillFields) {
    this.name = fields.name
    this.description = fields.description
    this.usage = fields.usage ?? ''
    this.toolList = fields.toolList ?? {}
    this.skillType = fields.skillType ?? ''
    this.active = fields.active ?? true
    this.path = fields.path ?? ''
    Object.freeze(this)
  }
}
