import { existsSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import type { Skill } from '@skillstoke/core'
import { describeNewCapabilities, replaceFolder, shortDigest, toMessage } from '@skillstoke/core/internal'
import { NodeFileSystem, openWriteLock } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import { EXIT_OK, UsageError } from '../exit-code.ts'
import { type Available, openAvailable } from '../lock/available.ts'
import { describeChanged, inspect } from '../lock/installed.ts'
import {
  findFolderFault,
  type LockedSkill,
  type LockedSkills,
  projectFolder,
  readForeignNames,
  readLock,
  writeLock,
} from '../lock/lock-file.ts'
import { noteSource } from '../named-places.ts'
import { createPaint, printFindings, printJson, printLine, toTerminalLine } from '../output.ts'
import { realPath } from '../real-path.ts'

export interface AddFlags {
  readonly json: boolean
  readonly isAll: boolean
  /** The folder of skills into which they are copied. */
  readonly to?: string
  /** Replaces what was changed here, too; it is kept in `.trash`. */
  readonly isForced: boolean
  /** Whether what nobody sees in them was looked at. */
  readonly confirmsHidden: boolean
}

/** `stoke add`: copies skills of another place into the project and writes down where they came from. */
export async function add(
  place: string,
  names: readonly string[],
  config: Config,
  flags: AddFlags,
): Promise<number> {
  await using available = await openPlace(place, config)
  const paint = createPaint(config.hasColor)
  printFindings(available.faults, paint)
  const chosen = choose(available.skills, names, flags.isAll, place)
  await refuseHidden(chosen, available, config, flags)
  const project = projectFolder(config)
  const root = resolve(flags.to ?? config.roots[0]?.path ?? 'skills')
  for (const { name, directory } of chosen) {
    const folder = relative(project, join(root, name)).replaceAll('\\', '/')
    if (directory !== undefined && realPath(directory) === realPath(join(root, name)))
      throw new UsageError(`${name} is in ${folder} already, which is where it would be copied`)
    const fault = findFolderFault(name, folder, config)
    if (fault !== undefined)
      throw new UsageError(
        `${JSON.stringify(folder)} ${fault}; copy skills into a folder of the project such as "skills"`,
      )
  }
  await using lock = await openWriteLock(config.stateDirectory)
  const added = await lock.run(async () => {
    const before = readLock(config)
    const isThere = new Map<Skill, boolean>()
    for (const skill of chosen) {
      const target = { place, folder: join(root, skill.name) }
      isThere.set(skill, await checkTarget(skill, target, before, config, flags.isForced))
    }
    let after: LockedSkills = before
    for (const skill of chosen) {
      if (isThere.get(skill) !== true) await install(skill, available, root)
      const folder = relative(project, join(root, skill.name))
      after = { ...after, [skill.name]: toLocked(skill, available, place, folder) }
      // After each, so that the lock is true whenever this is ended.
      await writeLock(config, after)
    }
    return chosen.map(({ name }) => ({ name, ...(after[name] as LockedSkill) }))
  })
  // Updates ask the place that a person has named once without being told again.
  await noteSource(config.stateDirectory, place)
  if (flags.json) {
    printJson(added)
    return EXIT_OK
  }
  for (const [index, { name, path, revision }] of added.entries()) {
    printLine(
      `added ${paint('bold', toTerminalLine(name))} ${shortDigest(revision as `sha256:${string}`)} in ${toTerminalLine(path)}`,
    )
    for (const each of describeNewCapabilities(undefined, chosen[index] as Skill))
      printLine(`  with it: ${toTerminalLine(each)}`)
  }
  return EXIT_OK
}

/** A folder has to be written as a path, because `acme/skills` is a repository. */
async function openPlace(place: string, config: Config): Promise<Available> {
  try {
    return await openAvailable(place, config, { isNamed: true })
  } catch (thrown) {
    const isFolder =
      !/^[./]/.test(place) && statSync(place, { throwIfNoEntry: false })?.isDirectory() === true
    if (!isFolder) throw thrown
    throw new UsageError(`${toMessage(thrown)}; for the folder here, write ./${place}`, { cause: thrown })
  }
}

/** What is copied is live at once, so what nobody sees in it is told before. */
async function refuseHidden(
  chosen: readonly Skill[],
  available: Available,
  config: Config,
  { confirmsHidden }: AddFlags,
): Promise<void> {
  const hiding: string[] = []
  for (const skill of chosen) {
    const hidden = await available.findHidden(skill)
    printFindings(hidden, createPaint(config.hasColor))
    if (hidden.length > 0) hiding.push(skill.name)
  }
  if (hiding.length > 0 && !confirmsHidden)
    throw new UsageError(
      `nothing was added: ${hiding.join(', ')} ${hiding.length === 1 ? 'has' : 'have'} characters that show nothing; look at these places, and use --confirm-hidden when they are meant`,
    )
}

/** Puts the files of a skill into a folder of its name, as a whole. */
export async function install(skill: Skill, available: Available, root: string): Promise<void> {
  const files = await available.read(skill)
  const swap = { fileSystem: new NodeFileSystem(), root, location: skill.name }
  await replaceFolder(swap, files, new Date().toISOString().replaceAll(/[:.]/g, '-'))
}

export function toLocked(skill: Skill, available: Available, source: string, path: string): LockedSkill {
  return {
    source,
    location: skill.location,
    version: available.version,
    path: path.replaceAll('\\', '/'),
    revision: skill.revision,
    files: Object.fromEntries(skill.files.map(file => [file.path, file.digest])),
  }
}

function choose(
  skills: readonly Skill[],
  names: readonly string[],
  isAll: boolean,
  place: string,
): readonly Skill[] {
  const known = skills.map(({ name }) => name).join(', ') || 'none'
  if (skills.length === 0) throw new UsageError(`${place} has no skill that could be copied`)
  if (isAll && names.length > 0)
    throw new UsageError('--all is for everything that is there; name no skills with it')
  if (isAll) return skills
  if (names.length === 0 && skills.length === 1) return skills
  if (names.length === 0)
    throw new UsageError(`${place} has these skills: ${known}; name some of them, or use --all`)
  return names.map(name => {
    const skill = skills.find(each => each.name === name)
    if (skill === undefined)
      throw new UsageError(`${place} has no skill ${JSON.stringify(name)}; it has: ${known}`)
    return skill
  })
}

interface Target {
  readonly place: string
  readonly folder: string
}

/**
 * Whether the folder holds the revision already, as of one that was ended after it had copied the files. What somebody else put
 * there, or changed, or added from another place, is not replaced.
 */
async function checkTarget(
  { name, revision }: Skill,
  { place, folder }: Target,
  locked: LockedSkills,
  config: Config,
  isForced: boolean,
): Promise<boolean> {
  const project = projectFolder(config)
  const own = locked[name]
  if (!isForced && own !== undefined && (own.source !== place || join(project, own.path) !== folder)) {
    throw new UsageError(
      `${name} was added from ${own.source} to ${own.path}; remove it first with "stoke remove ${name}", or use --force to add this one instead`,
    )
  }
  const expected = { files: own?.files ?? {}, revision: own?.revision ?? revision }
  const state = await inspect(project, { path: relative(project, folder), ...expected })
  if (state.revision === revision) return true
  if (isForced || !existsSync(folder)) return false
  if (own === undefined) {
    const by = readForeignNames(config).has(name)
      ? ', installed by the skills command line, which updates it'
      : ''
    throw new UsageError(
      `there is a folder ${folder} already${by}; use --force to replace it, and it is kept in .trash`,
    )
  }
  if (state.kind === 'modified')
    throw new UsageError(
      `${name} was changed here (${describeChanged(state)}); use --force to replace it, and it is kept in .trash`,
    )
  return false
}
