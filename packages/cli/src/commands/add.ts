import { existsSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { type Collision, findCollisions } from '@skillstoke/author'
import { listCompeting } from '@skillstoke/author/internal'
import type { Skill } from '@skillstoke/core'
import { defined, describeNewCapabilities, shortDigest, toMessage } from '@skillstoke/core/internal'
import { openWriteLock } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import { realPath } from '../config/real-path.ts'
import { type Available, openAvailable } from '../lock/available.ts'
import { copySkill } from '../lock/copy-skill.ts'
import { describeChanged, inspect } from '../lock/installed.ts'
import { keepHistory } from '../lock/keep-history.ts'
import {
  findFolderFault,
  type LockedSkill,
  type LockedSkills,
  projectFolder,
  readForeignNames,
  readLock,
} from '../lock/lock-file.ts'
import { noteSource } from '../skills/named-places.ts'
import { openSkills } from '../skills/open-skills.ts'
import type { Answer } from '../terminal/answer.ts'
import { describeCollision } from '../terminal/describe-collision.ts'
import { UsageError } from '../terminal/exit-code.ts'
import { paint, printFindings, toTerminalLine } from '../terminal/output.ts'

export interface AddFlags {
  readonly all?: boolean
  /** Folder that the skills are copied into. */
  readonly to?: string
  /** Whether to replace a folder that has local changes. The replaced folder is moved to `.trash`. */
  readonly force?: boolean
  /** Whether the caller accepts invisible characters in the skills. */
  readonly confirmHidden?: boolean
}

/** Implements `stoke add`: copies skills from a source into the project and records their origin in the lock file. */
export async function add(
  config: Config,
  flags: AddFlags,
  place: string,
  names: readonly string[],
): Promise<Answer> {
  await using available = await openPlace(place, config)
  printFindings(available.faults)
  const chosen = choose(available.skills, names, flags.all, place)
  await refuseHidden(chosen, available, flags)
  const project = projectFolder(config)
  const root = resolve(flags.to ?? config.roots[0]?.path ?? 'skills')
  for (const { name, directory } of chosen) {
    const folder = relative(project, join(root, name)).replaceAll('\\', '/')
    if (directory !== undefined && realPath(directory) === realPath(join(root, name)))
      throw new UsageError(`${name} is in ${folder} already, so there is nothing to copy`)
    const fault = findFolderFault(name, folder, config)
    if (fault !== undefined)
      throw new UsageError(
        `${JSON.stringify(folder)} ${fault}; copy skills into a folder of the project such as "skills"`,
      )
  }
  await using lock = await openWriteLock(config.stateDirectory)
  await keepHistory(config)
  const copied = await lock.run(async () => {
    const before = readLock(config)
    const isThere = new Map<Skill, boolean>()
    for (const skill of chosen) {
      const target = { source: available.flag, folder: join(root, skill.name) }
      isThere.set(skill, await checkTarget(skill, target, before, config, flags.force))
    }
    const copied: LockedSkill[] = []
    for (const skill of chosen) {
      const place = { source: available.flag, path: relative(project, join(root, skill.name)) }
      copied.push(
        await copySkill(skill, available, { ...place, isThere: isThere.get(skill) === true }, config),
      )
    }
    return copied
  })
  await keepHistory(config)
  // Records the source, so that `stoke update` may read the source without `--local`.
  await noteSource(config.stateDirectory, available.flag)
  const added = await Promise.all(
    chosen.map(async (skill, index) => ({
      name: skill.name,
      ...(copied[index] as LockedSkill),
      leftOut: await available.findLeftOut(skill),
      seconds: available.findSeconds(skill),
    })),
  )
  const pairs = await findAddedCollisions(
    added.map(({ name }) => name),
    config,
  )
  return {
    json: added.map(each => ({ ...each, collisions: pairs.filter(pair => isAbout(each.name, pair)) })),
    text: () => [
      ...added.flatMap((each, index) => [...describe(each, chosen[index] as Skill)]),
      ...pairs.flatMap(pair => [...describeCollision(pair)]),
    ],
  }
}

/** Finds skills of this project that compete with the added skills for messages. */
async function findAddedCollisions(of: readonly string[], config: Config): Promise<readonly Collision[]> {
  const folders = { ...config, remotes: [] }
  await using skills = await openSkills(folders, { watching: 'off', acceptsMissing: true })
  return findCollisions(listCompeting(skills.forConversation(defined({ scope: config.scope }))), { of })
}

function isAbout(name: string, { skills }: Collision): boolean {
  return skills.some(each => each.name === name)
}

/** A copied skill, and what was not copied with it. */
interface AddedSkill extends LockedSkill {
  readonly name: string
  /** Files and folders in the folder of the skill that are not part of the skill. */
  readonly leftOut: readonly string[]
  /** Other folders of the source that have a skill of the same name. */
  readonly seconds: readonly string[]
}

function* describe({ name, path, revision, leftOut, seconds }: AddedSkill, skill: Skill): Generator<string> {
  const digest = shortDigest(revision as `sha256:${string}`)
  yield `added ${paint('bold', toTerminalLine(name))} ${digest} in ${toTerminalLine(path)}`
  for (const each of describeNewCapabilities(undefined, skill)) yield `  with it: ${toTerminalLine(each)}`
  if (leftOut.length > 0)
    yield `  ${paint('yellow', 'left out')} of its folder: ${toTerminalLine(leftOut.join(', '))}`
  for (const each of seconds)
    yield `  ${paint('yellow', 'not added')}: a second skill of this name in ${toTerminalLine(each || '.')}`
}

/** Opens the source. A folder needs a leading `./` or `../`, because `acme/skills` means a repository. */
async function openPlace(place: string, config: Config): Promise<Available> {
  try {
    return await openAvailable(place, config, { isNamed: true })
  } catch (thrown) {
    const isFolder =
      !/^[./]/.test(place) && statSync(place, { throwIfNoEntry: false })?.isDirectory() === true
    if (!isFolder) throw thrown
    throw new UsageError(`${toMessage(thrown)}; to copy from the local folder, write ./${place}`, {
      cause: thrown,
    })
  }
}

/**
 * Refuses skills with hidden text unless `confirmHidden` is set, because a copied skill is served immediately.
 */
async function refuseHidden(
  chosen: readonly Skill[],
  available: Available,
  { confirmHidden }: AddFlags,
): Promise<void> {
  const hiding: string[] = []
  for (const skill of chosen) {
    const hidden = await available.findHidden(skill)
    printFindings(hidden)
    if (hidden.length > 0) hiding.push(skill.name)
  }
  if (hiding.length > 0 && !confirmHidden)
    throw new UsageError(
      `nothing was added: ${hiding.join(', ')} ${hiding.length === 1 ? 'has' : 'have'} hidden text; check the places above, then use --confirm-hidden if it is intended`,
    )
}

function choose(
  skills: readonly Skill[],
  names: readonly string[],
  isAll: boolean | undefined,
  place: string,
): readonly Skill[] {
  const known = skills.map(({ name }) => name).join(', ') || 'none'
  if (skills.length === 0) throw new UsageError(`${place} has no skill to copy`)
  if (isAll && names.length > 0)
    throw new UsageError('--all copies every skill of the source; leave out the skill names')
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
  /** The source, as the lock file names it. */
  readonly source: string
  readonly folder: string
}

/**
 * Returns true if the folder already contains the revision, for example because an earlier `add` was killed. Unless
 * `--force` is given, refuses a folder that has local changes, belongs to another source or was not copied by `add`.
 * @throws {UsageError}
 */
async function checkTarget(
  { name, revision }: Skill,
  { source, folder }: Target,
  locked: LockedSkills,
  config: Config,
  isForced: boolean | undefined,
): Promise<boolean> {
  const project = projectFolder(config)
  const own = locked[name]
  if (!isForced && own !== undefined && (own.source !== source || join(project, own.path) !== folder)) {
    throw new UsageError(
      `${name} was added from ${own.source} to ${own.path}; remove it with "stoke remove ${name}" first, or use --force to replace it`,
    )
  }
  const expected = { files: own?.files ?? {}, revision: own?.revision ?? revision }
  const state = await inspect(project, { path: relative(project, folder), ...expected })
  if (state.revision === revision) return true
  if (isForced || !existsSync(folder)) return false
  if (own === undefined) {
    const by = readForeignNames(config).has(name)
      ? ', installed and updated by the "skills" command line'
      : ''
    throw new UsageError(
      `the folder ${folder} exists already${by}; use --force to replace it (the old one is kept in .trash)`,
    )
  }
  if (state.kind === 'modified')
    throw new UsageError(
      `${name} has local changes (${describeChanged(state)}); use --force to replace it (the old one is kept in .trash)`,
    )
  return false
}
