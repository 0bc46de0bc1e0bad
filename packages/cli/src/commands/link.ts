import { mkdirSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { toMessage } from '@skillstoke/core'
import type { Config } from '../config/config.ts'
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
  if (!statSync(join(target, 'SKILL.md'), { throwIfNoEntry: false })?.isFile())
    throw new UsageError(`there is no SKILL.md in ${target}; name the folder of a skill`)
  const root = resolve(flags.to ?? config.roots[0]?.path ?? 'skills')
  const path = join(root, basename(target))
  // A person says so: the link is followed from now on by every process of the state directory.
  await noteLink(config.stateDirectory, path, realpathSync(target))
  const wasThere = realPath(path) === realPath(target)
  try {
    mkdirSync(root, { recursive: true })
    if (!wasThere) symlinkSync(relative(dirname(path), target), path, 'dir')
  } catch (thrown) {
    throw new UsageError(`the link ${path} cannot be made: ${toMessage(thrown)}`, { cause: thrown })
  }
  await using skills = await openSkills(config, { watching: 'off' })
  const reports = skills.current.reports()
  const isThere = (place: { readonly directory?: string }): boolean => place.directory === path
  const report = reports.find(each => isThere(each) || each.copies?.some(isThere) === true)
  const isServed = report?.serving !== undefined
  if (!isServed && !wasThere) rmSync(path)
  if (flags.json) printJson({ path, target, isServed })
  else {
    printLine(isServed ? `${path} -> ${target}` : `${path} was not linked to ${target}`)
    const paint = createPaint(config.hasColor)
    for (const each of report?.diagnostics ?? []) printLine(formatDiagnostic(each, paint))
    if (isServed && report?.directory !== path)
      printLine(`the same files are in ${report?.directory ?? report?.location}, which comes first`)
    if (report === undefined)
      printLine(`${root} is no root that is read; name it with --root, here and where it is served`)
  }
  return isServed ? EXIT_OK : EXIT_FINDINGS
}
