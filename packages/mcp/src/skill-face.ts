import type { Icon } from '@modelcontextprotocol/server'
import { type Skill, SkillError, type SkillReader } from '@skillstoke/core'
import { escapeControls } from '@skillstoke/core/internal'
import { mediaTypeOf } from './media-type.ts'

/** Maximum size of an icon file, in bytes. Larger icons would make every page of a list slow. */
const MAX_ICON_BYTES = 32 * 1024

/** Returns the title of a skill for people: `title` or `metadata.title` of its frontmatter. */
export function titleOf({ extra, metadata }: Skill): string | undefined {
  const title = extra['title'] ?? metadata['title']
  return typeof title === 'string' && title.trim() !== '' ? escapeControls(title.trim()) : undefined
}

/**
 * Returns the icon that the frontmatter names with `icon` or `metadata.icon`: an `https:` or `data:` URL, or the path of
 * an image in the folder of the skill. An image file becomes a `data:` URL.
 */
export async function iconsOf(skill: Skill, reader: SkillReader): Promise<Icon[] | undefined> {
  const icon = iconNameOf(skill)
  if (icon === undefined) return undefined
  if (/^(?:https:\/\/|data:image\/)/i.test(icon)) return [{ src: icon }]
  const mimeType = mediaTypeOf(icon)
  const file = skill.files.find(({ path }) => path === icon.replace(/^\.\//, ''))
  if (file === undefined || file.size > MAX_ICON_BYTES || !mimeType.startsWith('image/')) return undefined
  // A list must not retrieve the files of a skill from another server.
  if (!reader.isStored(skill)) return undefined
  try {
    const bytes = await reader.readFile(skill, file.path)
    return [{ src: `data:${mimeType};base64,${Buffer.from(bytes).toString('base64')}`, mimeType }]
  } catch (thrown) {
    // An icon whose bytes are gone must not hide its skill.
    if (SkillError.isInstance(thrown, 'REVISION_NOT_FOUND')) return undefined
    throw thrown
  }
}

/** Returns whether two revisions look the same in a list. */
export function looksSame(a: Skill, b: Skill): boolean {
  return a.description === b.description && titleOf(a) === titleOf(b) && iconKeyOf(a) === iconKeyOf(b)
}

function iconNameOf({ extra, metadata }: Skill): string | undefined {
  const icon = extra['icon'] ?? metadata['icon']
  return typeof icon === 'string' && icon.trim() !== '' ? icon.trim() : undefined
}

function iconKeyOf(skill: Skill): string {
  const icon = iconNameOf(skill)
  if (icon === undefined) return ''
  return `${icon} ${skill.files.find(({ path }) => path === icon.replace(/^\.\//, ''))?.digest ?? ''}`
}
