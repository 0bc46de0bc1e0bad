import { existsSync } from 'node:fs'
import {
  CAPABILITY_FORMS,
  describeGrants,
  type GrantVerb,
  grantSkill,
  isCapability,
  targetOf,
} from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { findGrantRefusal, openSkills } from '../skills/open-skills.ts'
import { parseNamedSkill } from '../skills/skill-target.ts'
import { askYes } from '../terminal/ask.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { paint, printJson, printLine, toTerminalLine } from '../terminal/output.ts'
import { toNote } from './decide.ts'

export interface GrantFlags {
  readonly json?: boolean
  readonly note?: string
  /** Whether to grant everything that the skill asks for, without a question. */
  readonly yes?: boolean
}

/**
 * Implements `stoke grant` and `stoke revoke`. The decisions apply to every process that uses the state directory. If
 * no capability is named, `grant` lists the requested capabilities and asks for confirmation; `revoke` revokes all
 * capabilities.
 */
export async function grant(
  verb: GrantVerb,
  config: Config,
  flags: GrantFlags,
  target: string,
  words: readonly string[],
): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const named = parseNamedSkill(target)
  if (verb === 'revoke' && named.revision !== undefined)
    throw new UsageError(
      `revoke applies to all revisions of a skill; leave out ${JSON.stringify(named.revision)}`,
    )
  const { report } = skills.review.find(named.skill)
  const { skill, live } = skills.review.revisionsOf(report)
  const current = live ?? skill
  if (current === undefined)
    throw new UsageError(`the text of ${JSON.stringify(target)} is broken; fix it first`)
  const { asked, granted: before } = describeGrants(current, skills)
  const known = asked.filter(isCapability)
  const capabilities = words.length > 0 ? words : verb === 'grant' ? known : before
  if (capabilities.length === 0)
    throw new UsageError(
      verb === 'grant' && asked.length > 0
        ? `${JSON.stringify(target)} asks only for unknown capabilities: ${asked.join(' ')}; use ${CAPABILITY_FORMS}`
        : verb === 'grant'
          ? `${JSON.stringify(target)} asks for nothing in metadata.capabilities; name a capability to grant, for example exec`
          : `nothing is granted to ${JSON.stringify(target)}`,
    )
  const isShown = words.length > 0 || named.revision !== undefined || verb === 'revoke' || flags.yes
  if (!isShown && !(await askFor(named.skill, capabilities, config, flags))) return EXIT_FINDINGS
  // The grant applies only to the revision that the person has seen.
  const revision = named.revision ?? current.revision
  const wish = { verb, skill: targetOf(report), capabilities, revision, ...toNote(flags) }
  const { isNew, name } = await grantSkill(wish, skills)
  const { granted, missing } = describeGrants(current, skills)
  const refusal = (await findGrantRefusal(granted, config)) ?? null
  if (flags.json) printJson({ skill: name, granted, asked, missing, refusal, isNew })
  else {
    const printWords = (done: string, of: readonly string[]): void => {
      if (of.length > 0)
        printLine(`${done}: ${toTerminalLine(of.join(' '))} for ${paint('bold', toTerminalLine(name))}`)
    }
    if (verb === 'grant') printWords(isNew ? 'granted' : 'granted already', capabilities)
    else {
      const isGranted = (word: string): boolean => before.includes(word)
      printWords('revoked', capabilities.filter(isGranted))
      printWords(
        'not granted',
        capabilities.filter(word => !isGranted(word)),
      )
    }
    printLine(
      `granted now: ${granted.length === 0 ? 'nothing, so its scripts can only compute' : toTerminalLine(granted.join(' '))}`,
    )
    const unasked = granted.filter(word => !asked.includes(word))
    if (unasked.length > 0)
      printLine(
        `metadata.capabilities does not ask for ${toTerminalLine(unasked.join(' '))}; only scripts that are not commands get it`,
      )
    const unknown = asked.filter(word => !isCapability(word))
    if (unknown.length > 0)
      printLine(paint('yellow', `it asks for unknown capabilities: ${toTerminalLine(unknown.join(' '))}`))
    if (missing.length > 0)
      printLine(paint('yellow', `it asks for more: ${toTerminalLine(missing.join(' '))}`))
    for (const word of granted) {
      const nothing = findNothing(word)
      if (nothing !== undefined) printLine(paint('yellow', toTerminalLine(`${word}: ${nothing}`)))
    }
    if (refusal !== null)
      printLine(
        paint(
          'yellow',
          toTerminalLine(`with these grants, no script of the skill starts from this folder: ${refusal}`),
        ),
      )
    if (granted.includes('exec'))
      printLine(
        paint('yellow', 'exec disables the permissions of Node; only a sandbox contains the scripts then'),
      )
  }
  return EXIT_OK
}

/**
 * Asks the person at the terminal. If there is no terminal, throws an error that contains a `stoke grant` command with
 * all capabilities.
 */
async function askFor(
  skill: string,
  capabilities: readonly string[],
  config: Config,
  flags: { readonly json?: boolean },
): Promise<boolean> {
  const wanted = toTerminalLine(capabilities.join(' '))
  if (!flags.json && config.isInteractive)
    return await askYes(`${toTerminalLine(skill)} asks for: ${wanted}. Grant it?`)
  const command = toTerminalLine(toCommandLine(['grant', skill, ...capabilities, ...config.options]))
  throw new UsageError(
    `${JSON.stringify(skill)} asks for ${wanted}; name what you grant: stoke ${command} (--yes grants everything that it asks for)`,
  )
}

/**
 * Returns a warning if a capability names a variable or path that does not exist, because such a name is usually a
 * mistake.
 */
function findNothing(capability: string): string | undefined {
  const [, kind = '', target = ''] = /^(env|fs\.(?:read|write)):(.+)$/.exec(capability) ?? []
  if (kind === 'env') return process.env[target] === undefined ? 'the variable is not set here' : undefined
  return target === '' || existsSync(target) ? undefined : 'the path does not exist here'
}
