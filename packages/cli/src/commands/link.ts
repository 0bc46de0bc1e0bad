import { mkdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { toMessage } from '@skillstoke/core'
import type { Config } from '../config/config.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../exit-code.ts'
import { openSkills } from '../open-skills.ts'
import { createPaint, formatDiagnostic, printJson, printLine } from '../output.ts'

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
  try {
    mkdirSync(root, { recursive: true })
    symlinkSync(relative(dirname(path), target), path, 'dir')
  } catch (thrown) {
    throw new UsageError(`the link ${path} cannot be made: ${toMessage(thrown)}`, { cause: thrown })
  }
  await using skills = await openSkills(config, { watching: 'off' })
  const report = skills.current.reports().find(({ directory }) => directory === path)
  const isServed = report?.serving !== undefined
  if (!isServed) rmSync(path)
  if (flags.json) printJson({ path, target, isServed })
  else {
    printLine(isServed ? `${path} -> ${target}` : `${path} was not linked to ${target}`)
    const paint = createPaint(config.hasColor)
    for (const each of report?.diagnostics ?? []) printLine(formatDiagnostic(each, paint))
    if (report === undefined)
      printLine(
        `it leads out of the roots: allow that with --link-root ${dirname(target)}, here and where it is served`,
      )
  }
  return isServed ? EXIT_OK : EXIT_FINDINGS
}
