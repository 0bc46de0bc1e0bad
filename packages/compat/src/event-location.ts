import { isInside } from '@skillstoke/core/internal'
import type { SkillChangeFields } from './skill-watcher.ts'
import { type SourceRoot, toLocation } from './source-root.ts'

/** The path that the `sourcePath` of an event names, relative to a registered folder. */
export interface EventBase {
  /** Path of a skill folder, or of a folder that contains skill folders. Empty for the registered folder itself. */
  readonly path: string
  /** Whether `sourcePath` named the SKILL.md of one skill. */
  readonly isText: boolean
}

export function toEventBase(root: SourceRoot, sourcePath: string): EventBase {
  const within = root.within(sourcePath) ?? ''
  const isText = /\.md$/i.test(within)
  return { path: (isText ? toLocation(within) : within) ?? '', isText }
}

/** Whether an event with this base may be about the skill at a location. */
export function isWithinBase(location: string, { path, isText }: EventBase): boolean {
  return isText || path === '' || isInside(location, path)
}

/** Finds the locations of known skills within a registered folder. */
export interface KnownPlaces {
  /** The locations of skills that have the event's skill name and are within the base. */
  readonly ofName: readonly string[]
  /** Whether the folder at a location contains a skill. */
  has(location: string): boolean
}

/**
 * Returns the folder of the event's skill, relative to a registered folder. The `sourcePath` of an event may name the
 * `SKILL.md`, the skill's folder or, as in Exo, the source. If `sourcePath` names only the source, the folder is the
 * skill's `path`, the last known folder of the skill, or a folder with the skill's name.
 */
export function locateEvent(
  { skillName, skill }: SkillChangeFields,
  base: EventBase,
  root: SourceRoot,
  known: KnownPlaces,
): string {
  if (base.isText) return base.path
  const own = locatePath(skill?.path ?? '', base, root) ?? known.ofName[0]
  if (own !== undefined) return own
  const isFolderOfSkill =
    base.path !== '' && (base.path.split('/').at(-1) === skillName || known.has(base.path))
  return isFolderOfSkill ? base.path : joinPath(base.path, skillName)
}

/** Returns the location that the field `path` of a skill names; `path` is absolute or relative to the source. */
function locatePath(path: string, base: EventBase, root: SourceRoot): string | undefined {
  if (path === '') return undefined
  const within = root.within(path)
  if (within !== undefined) return toLocation(within)
  const location = toLocation(path)
  return location === undefined ? undefined : joinPath(base.path, location)
}

function joinPath(base: string, path: string): string {
  return [base, path].filter(part => part !== '').join('/')
}
