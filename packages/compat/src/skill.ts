/** Everything about a skill that its source says. */
export interface SkillFields {
  readonly name: string
  readonly description: string
  /** The instructions. @default '' */
  readonly usage?: string
  /** Tools by the name of a group, from the field `tool_list`. @default {} */
  readonly toolList?: Readonly<Record<string, unknown>>
  /** Empty for a tool, or `agent`. @default '' */
  readonly skillType?: string
  /** @default true */
  readonly active?: boolean
  /** Where its text is. @default '' */
  readonly path?: string
}

/** A skill as Exo has it. Immutable. */
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
