import { readFrontmatter, type Skill, type SkillRuntime } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'

/** A skill in pai's form. As long as the frontmatter and the location do not change, requests get the same object. */
export interface SkillConfig {
  readonly name: string
  readonly description: string
  /** Folder of the skill, as a path for the file operator. */
  readonly path: string
  /** SHA-256 of the raw frontmatter, 64 hexadecimal digits. */
  readonly contentHash: string
  /** All other fields of the frontmatter, with their YAML types. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** Returns a key that changes when the frontmatter or the location of a skill changes. */
export function configKeyOf(skill: Skill): string {
  return `${hashOf(skill)} ${pathOf(skill)}`
}

/** Reads the frontmatter again, because a `Skill` contains its fields only as text, without YAML types. */
export async function createSkillConfig(skill: Skill, runtime: SkillRuntime): Promise<SkillConfig> {
  const { name, description } = skill
  const fields = readFrontmatter(await runtime.readFile(skill, skill.skillFile))
  return Object.freeze({
    name,
    description,
    path: pathOf(skill),
    contentHash: hashOf(skill),
    extra: fields === undefined ? toExtra(skill) : withoutNamed(fields),
  })
}

function withoutNamed({
  name: _name,
  description: _description,
  ...extra
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return freezeAll(extra) as Readonly<Record<string, unknown>>
}

/** Returns the additional fields of a skill whose frontmatter is not valid YAML and was repaired. */
function toExtra(skill: Skill): Readonly<Record<string, unknown>> {
  const { license, compatibility, metadata, allowedTools } = skill
  return Object.freeze({
    ...defined({ license, compatibility }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(allowedTools === undefined ? {} : { 'allowed-tools': allowedTools }),
    ...skill.extra,
  })
}

function freezeAll(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  for (const item of Object.values(value)) freezeAll(item)
  return Object.freeze(value)
}

function hashOf({ frontmatterDigest }: Skill): string {
  return frontmatterDigest.replace('sha256:', '')
}

function pathOf({ directory, location }: Skill): string {
  return directory ?? location
}
