import { lstatSync, mkdirSync, realpathSync, rmdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { checkNamedRoots } from '../config/named-roots.ts'
import { orFail } from '../config/read-text.ts'
import { realPath } from '../config/real-path.ts'
import { noteLink } from '../skills/named-places.ts'
import { openSkills } from '../skills/open-skills.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { formatDiagnostic } from '../terminal/output.ts'

/**
 * Implements `stoke link`: creates a link in a root to a skill folder elsewhere. Exits with 1 if the linked skill is
 * not served.
 */
export async function link(config: Config, flags: { readonly to?: string }, folder: string): Promise<Answer> {
  const target = resolve(folder)
  checkSkill(target)
  const root = resolve(flags.to ?? config.roots[0]?.path ?? 'skills')
  // The root that will contain the link may be missing, because `makeLink()` creates it.
  checkNamedRoots({ ...config, roots: config.roots.filter(each => resolve(each.path) !== root) })
  const path = join(root, basename(target))
  const wasThere = isLinkedAlready(path, target)
  const undo = wasThere ? () => undefined : makeLink(path, target)
  // Records the link, so that every process that uses this state directory may read the linked folder.
  await noteLink(config.stateDirectory, path, realpathSync(target))
  await using skills = await openSkills(config, { watching: 'off' })
  const reports = skills.current.reports()
  const isThere = (place: { readonly directory?: string }): boolean => place.directory === path
  const report = reports.find(each => isThere(each) || each.copies?.some(isThere) === true)
  const isServed = report?.serving !== undefined
  const isLinked = isServed || report?.status === 'pending'
  if (!isLinked) undo()
  return {
    json: { path, target, isServed },
    text: function* () {
      yield isLinked ? `${path} -> ${target}` : `${path} was not linked to ${target}`
      for (const each of report?.diagnostics ?? []) yield formatDiagnostic(each)
      if (isServed && report?.directory !== path)
        yield `the same files are in ${report?.directory ?? report?.location}, which takes precedence`
      if (report === undefined)
        yield `${root} is not a root; name it with --root, in this command and in the command that serves the skills`
    },
    exit: isServed ? EXIT_OK : EXIT_FINDINGS,
  }
}

/** @throws {UsageError} when the folder has no SKILL.md, or cannot be read */
function checkSkill(target: string): void {
  const isFile = orFail(`${target} cannot be read`, () =>
    statSync(join(target, 'SKILL.md'), { throwIfNoEntry: false })?.isFile(),
  )
  if (isFile !== true) throw new UsageError(`there is no SKILL.md in ${target}; name a skill folder`)
}

/** @throws {UsageError} when the path of the link already belongs to another file or folder */
function isLinkedAlready(path: string, target: string): boolean {
  const facts = orFail(`${dirname(path)} cannot be read`, () => lstatSync(path, { throwIfNoEntry: false }))
  if (facts === undefined) return false
  const isSame = realPath(path) === realPath(target)
  if (isSame && facts.isSymbolicLink()) return true
  if (isSame) throw new UsageError(`${target} is in ${dirname(path)} already; there is nothing to link`)
  throw new UsageError(`${path} exists already; move it away, or name another root with --to`)
}

/** Creates a link and its missing parent folders. Returns a function that removes the link and the created folders. */
function makeLink(path: string, target: string): () => void {
  const root = dirname(path)
  return orFail(`the link ${path} cannot be created`, () => {
    const first = mkdirSync(root, { recursive: true })
    // On Windows, a junction is the only folder link that users without administrator rights may create.
    symlinkSync(relative(root, target), path, 'junction')
    return () => {
      rmSync(path)
      if (first !== undefined) removeEmpty(root, first)
    }
  })
}

/** Removes a folder and then its parents up to `last`. Stops at a folder that is not empty. */
function removeEmpty(folder: string, last: string): void {
  try {
    rmdirSync(folder)
  } catch {
    return // the folder is no longer empty
  }
  if (folder !== last) removeEmpty(dirname(folder), last)
}
