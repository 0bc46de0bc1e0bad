import { existsSync } from 'node:fs'
import {
  CAPABILITY_FORMS,
  describeGrants,
  findCapabilityForm,
  type GrantVerb,
  grantSkill,
  targetOf,
} from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { findGrantRefusal, openSkills } from '../skills/open-skills.ts'
import { parseNamedSkill } from '../skills/skill-target.ts'
import type { Answer } from '../terminal/answer.ts'
import { askYes } from '../terminal/ask.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_FINDINGS, UsageError } from '../terminal/exit-code.ts'
import { paint, toTerminalLine } from '../terminal/output.ts'
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
): Promise<Answer | number> {
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
  const known = asked.filter(word => findCapabilityForm(word) !== undefined)
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
  return {
    json: { skill: name, granted, asked, missing, refusal, isNew },
    text: function* () {
      const did = (done: string, of: readonly string[]): readonly string[] =>
        of.length === 0
          ? []
          : [`${done}: ${toTerminalLine(of.join(' '))} for ${paint('bold', toTerminalLine(name))}`]
      if (verb === 'grant') yield* did(isNew ? 'granted' : 'granted already', capabilities)
      else {
        yield* did(
          'revoked',
          capabilities.filter(word => before.includes(word)),
        )
        yield* did(
          'not granted',
          capabilities.filter(word => !before.includes(word)),
        )
      }
      yield `granted now: ${granted.length === 0 ? 'nothing, so its scripts can only compute' : toTerminalLine(granted.join(' '))}`
      const unasked = granted.filter(word => !asked.includes(word))
      if (unasked.length > 0)
        yield `metadata.capabilities does not ask for ${toTerminalLine(unasked.join(' '))}; only scripts that are not commands get it`
      const unknown = asked.filter(word => findCapabilityForm(word) === undefined)
      const warnings = [
        unknown.length > 0 && `it asks for unknown capabilities: ${unknown.join(' ')}`,
        missing.length > 0 && `it asks for more: ${missing.join(' ')}`,
        ...granted.map(findNothing),
        refusal !== null && `with these grants, no script of the skill starts from this folder: ${refusal}`,
        granted.includes('exec') &&
          'exec disables the permissions of Node; only a sandbox contains the scripts then',
      ]
      for (const text of warnings) if (text) yield paint('yellow', toTerminalLine(text))
    },
  }
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
  if (kind === 'env')
    return process.env[target] === undefined ? `${capability}: the variable is not set here` : undefined
  return target === '' || existsSync(target) ? undefined : `${capability}: the path does not exist here`
}
