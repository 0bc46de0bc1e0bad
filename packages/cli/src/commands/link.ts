import { lstatSync, mkdirSync, realpathSync, rmdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { toMessage } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { checkNamedRoots } from '../config/named-roots.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../exit-code.ts'
import { noteLink } from '../named-places.ts'
import { openSkills } from '../open-skills.ts'
import { createPaint, formatDiagnostic, printJson, printLine } from '../output.ts'
import { realPath } from '../real-path.ts'

/** `stoke link`: makes a skill that is being written elsewhere part of a root, by a link. Exits with 1 when it is not served so. */
export async function link(
  folder: string,
  config: Config,
  flags: { readonly json: boolean; readonly to?: string },
): Promise<number> {
  const target = resolve(folder)
  checkSkill(target)
  const root = resolve(flags.to ?? config.roots[0]?.path ?? 'skills')
  // The root of the link is made when it is missing.
  checkNamedRoots({ ...config, roots: config.roots.filter(each => resolve(each.path) !== root) })
  const path = join(root, basename(target))
  const wasThere = isLinkedAlready(path, target)
  const undo = wasThere ? () => undefined : makeLink(path, target)
  // A person says so: the link is followed from now on by every process of the state directory.
  await noteLink(config.stateDirectory, path, realpathSync(target))
  await using skills = await openSkills(config, { watching: 'off' })
  const reports = skills.current.reports()
  const isThere = (place: { readonly directory?: string }): boolean => place.directory === path
  const report = reports.find(each => isThere(each) || each.copies?.some(isThere) === true)
  const isServed = report?.serving !== undefined
  const isWaiting = report?.status === 'pending'
  const isLinked = isServed || isWaiting
  if (!isLinked) undo()
  if (flags.json) printJson({ path, target, isServed })
  else {
    printLine(isLinked ? `${path} -> ${target}` : `${path} was not linked to ${target}`)
    const paint = createPaint(config.hasColor)
    for (const each of report?.diagnostics ?? []) printLine(formatDiagnostic(each, paint))
    if (isServed && report?.directory !== path)
      printLine(`the same files are in ${report?.directory ?? report?.location}, which comes first`)
    if (report === undefined)
      printLine(`${root} is no root that is read; name it with --root, here and where it is served`)
  }
  return isServed ? EXIT_OK : EXIT_FINDINGS
}

/** @throws {UsageError} for a folder that is none of a skill, or cannot be read */
function checkSkill(target: string): void {
  const isFile = lookAt(target, () => statSync(join(target, 'SKILL.md'), { throwIfNoEntry: false })?.isFile())
  if (isFile !== true) throw new UsageError(`there is no SKILL.md in ${target}; name the folder of a skill`)
}

function lookAt<Value>(folder: string, look: () => Value): Value {
  try {
    return look()
  } catch (thrown) {
    throw new UsageError(`${folder} cannot be read: ${toMessage(thrown)}`, { cause: thrown })
  }
}

/** @throws {UsageError} when something else has the name of the link */
function isLinkedAlready(path: string, target: string): boolean {
  const facts = lookAt(dirname(path), () => lstatSync(path, { throwIfNoEntry: false }))
  if (facts === undefined) return false
  const isSame = realPath(path) === realPath(target)
  if (isSame && facts.isSymbolicLink()) return true
  if (isSame) throw new UsageError(`${target} is in ${dirname(path)} already; there is nothing to link`)
  throw new UsageError(`${path} is there already; move it away, or name another root with --to`)
}

/** Makes a link, and the folders above it; returns a function that removes what was made. */
function makeLink(path: string, target: string): () => void {
  const root = dirname(path)
  try {
    const first = mkdirSync(root, { recursive: true })
    // Windows lets only administrators make other links to folders.
    symlinkSync(relative(root, target), path, 'junction')
    return () => {
      rmSync(path)
      if (first !== undefined) removeEmpty(root, first)
    }
  } catch (thrown) {
    throw new UsageError(`the link ${path} cannot be made: ${toMessage(thrown)}`, { cause: thrown })
  }
}

/** Removes a folder and those above it up to another one, as far as nothing is in them. */
function removeEmpty(folder: string, last: string): void {
  try {
    rmdirSync(folder)
  } catch {
    return // somebody has put something there meanwhile
  }
  if (folder !== last) removeEmpty(dirname(folder), last)
}
