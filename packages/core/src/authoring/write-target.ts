import { SkillError, unlessFailed } from '../errors.ts'
import { isInside, pathInside } from '../is-inside.ts'
import { quote } from '../quote.ts'
import type { KnownFolder } from '../registry/skill-registry.ts'
import { IGNORE_FILE_NAME } from '../source/file-layout.ts'
import type { WritableLayer } from './layer-files.ts'
import { listFolder } from './list-folder.ts'

/** A file that is about to be written. */
export interface WriteTarget {
  /** Name of the skill that the file belongs to. */
  readonly name: string
  /** Path of the skill's folder within the source. */
  readonly location: string
  /** Absolute path of the skill's folder, with links resolved. */
  readonly folder: string
  /** Path of the file within the folder. */
  readonly path: string
}

/** Returns the absolute path of the writable folder, with links resolved. Writes follow no links below this folder. */
export async function resolveRoot({ fileSystem, root }: WritableLayer): Promise<string> {
  return (await unlessFailed(() => fileSystem.resolve(root), 'NOT_FOUND')) ?? root
}

/**
 * Refuses a write that changes the folder of another skill, or the rules of skills below.
 * @throws {SkillError} INVALID_PATH; READ_ONLY when the write also changes a skill that is out of scope
 */
export async function checkTarget(
  target: WriteTarget,
  layer: WritableLayer,
  folders: readonly KnownFolder[],
  isInScope: (name: string) => boolean,
): Promise<void> {
  const { name, folder, path, location } = target
  const others = folders.filter(each => each.origin !== layer.origin || each.location !== location)
  const file = `${folder}/${path}`
  const contains = ({ path: other }: KnownFolder): boolean => isInside(file, other)
  const isBelow = ({ path: other }: KnownFolder): boolean => pathInside(folder, other) !== undefined
  // A name that is out of scope is not shown.
  const show = (other: string): string =>
    isInScope(other) ? `another skill, ${quote(other)}` : 'another skill'
  const crossed =
    others.find(each => isBelow(each) && contains(each))?.name ?? (await findNested(target, layer))
  if (crossed !== undefined)
    throw new SkillError(
      'INVALID_PATH',
      `path ${quote(path)} lies in the folder of ${show(crossed)}; write to that skill`,
    )
  const above = file.slice(0, file.lastIndexOf('/'))
  const isRules = file === `${above}/${IGNORE_FILE_NAME}`
  const ruled = others.find(other => isRules && pathInside(above, other.path) !== undefined)?.name
  if (ruled !== undefined)
    throw new SkillError(
      'INVALID_PATH',
      `path ${quote(path)} would also decide about the files of ${show(ruled)}, which lies below ${quote(name)}`,
    )
  if (others.some(each => contains(each) && !isInScope(each.name)))
    throw new SkillError(
      'READ_ONLY',
      `the folder of ${quote(name)} is part of another skill, which may not be written here`,
    )
}

/** Finds a folder between the skill's folder and the file that has a skill text, even if no scan has found it yet. */
async function findNested(
  { location, path }: WriteTarget,
  layer: WritableLayer,
): Promise<string | undefined> {
  const segments = path.split('/').slice(0, -1)
  const start = location === '' ? layer.root : `${layer.root}/${location}`
  for (let depth = 1; depth <= segments.length; depth++) {
    const within = segments.slice(0, depth).join('/')
    const entries = await listFolder(layer.fileSystem, `${start}/${within}`)
    if (entries?.some(({ name }) => isSkillText(name, layer)) === true) return within
  }
  return undefined
}

/**
 * Refuses a folder that exists without a skill text, because files with another purpose would become part of a skill.
 * Accepts a folder that contains only the files `written`, which agents wrote there before.
 * @throws {SkillError} INVALID_NAME
 */
export async function checkFolderIsFree(
  { name, location }: WriteTarget,
  layer: WritableLayer,
  written: ReadonlySet<string>,
): Promise<void> {
  const folder = `${layer.root}/${location}`
  const entries = await listFolder(layer.fileSystem, folder)
  if (entries === undefined || entries.some(each => isSkillText(each.name, layer))) return
  if (!(await hasOther(folder, '', layer, written))) return
  throw new SkillError(
    'INVALID_NAME',
    `the folder ${quote(folder)} exists and is not a skill; use another name than ${quote(name)}`,
    { data: { name, folder } },
  )
}

/** True if a folder contains anything but the written files and the folders above them. */
async function hasOther(
  folder: string,
  within: string,
  layer: WritableLayer,
  written: ReadonlySet<string>,
): Promise<boolean> {
  for (const { name, kind } of await layer.fileSystem.list(folder)) {
    const path = `${within}${name}`
    if (written.has(path)) continue
    if (kind !== 'directory') return true
    if (await hasOther(`${folder}/${name}`, `${path}/`, layer, written)) return true
  }
  return false
}

function isSkillText(name: string, { fileNames }: WritableLayer): boolean {
  return fileNames.some(each => each.toLowerCase() === name.toLowerCase())
}
