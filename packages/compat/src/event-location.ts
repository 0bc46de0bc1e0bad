import type { SkillChangeFields } from './skill-watcher.ts'
import { type SourceRoot, toLocation } from './source-root.ts'

/** What the `sourcePath` of an event names within a registered folder. */
export interface EventBase {
  /** The folder of a skill, or one with skills below it; empty for the root. */
  readonly path: string
  /** Whether the text of one skill was named. */
  readonly isText: boolean
}

export function toEventBase(root: SourceRoot | undefined, sourcePath: string): EventBase {
  const within = root?.within(sourcePath) ?? ''
  const isText = /\.md$/i.test(within)
  return { path: (isText ? toLocation(within) : within) ?? '', isText }
}

/** Whether a place is one that an event with this base may be about. */
export function isWithinBase(location: string, { path, isText }: EventBase): boolean {
  return isText || path === '' || location === path || location.startsWith(`${path}/`)
}

/** Where the skill of an event is within a registered folder. */
export interface KnownPlaces {
  /** Where a skill of its name is within the base. */
  readonly ofName: readonly string[]
  /** Whether there is a skill in a folder. */
  has(location: string): boolean
}

/**
 * The folder of the skill that an event is about, within a registered folder. A watcher may name the text, the skill's
 * folder, or, as Exo has it, the source; then the skill says where it is, or is where it was, or in a folder of its name.
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

/** Where a skill says that its text is: absolute, or seen from the source. */
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
