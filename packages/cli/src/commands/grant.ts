import { existsSync } from 'node:fs'
import { CAPABILITY_FORMS, declaredCapabilities, findMissing, isCapability } from '@skillstoke/core'
import type { Config } from '../config/config.ts'
import { EXIT_OK, UsageError } from '../exit-code.ts'
import { currentUser, openSkills } from '../open-skills.ts'
import { createPaint, printJson, printLine, toTerminalLine } from '../output.ts'

/**
 * `stoke grant` and `stoke revoke`: what the scripts of a skill may do beyond computing, for every process of the state
 * directory. Without words: what the skill asks for, or everything that it has.
 */
export async function grant(
  verb: 'grant' | 'revoke',
  target: string,
  words: readonly string[],
  config: Config,
  flags: { readonly json: boolean; readonly note?: string },
): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const { report } = skills.review.find(target)
  const { skill, live } = skills.review.revisionsOf(report)
  const current = live ?? skill
  if (current === undefined)
    throw new UsageError(`the text of ${JSON.stringify(target)} is broken; mend it first`)
  const asked = declaredCapabilities(current)
  const known = asked.filter(isCapability)
  const capabilities = words.length > 0 ? words : verb === 'grant' ? known : skills.review.grantedTo(current)
  if (capabilities.length === 0)
    throw new UsageError(
      verb === 'grant' && asked.length > 0
        ? `${JSON.stringify(target)} asks only for what there is not: ${asked.join(' ')}; there are ${CAPABILITY_FORMS}`
        : verb === 'grant'
          ? `${JSON.stringify(target)} asks for nothing in metadata.capabilities; name what to grant, for example exec`
          : `nothing is granted to ${JSON.stringify(target)}`,
    )
  const note = { by: currentUser(), ...(flags.note === undefined ? {} : { note: flags.note }) }
  const { isNew, name } = await skills.review[verb](target, capabilities, note)
  const granted = skills.review.grantedTo(current)
  const missing = findMissing(asked, granted)
  if (flags.json) printJson({ skill: name, granted, asked, missing, isNew })
  else {
    const paint = createPaint(config.hasColor)
    const [done, already] = verb === 'grant' ? ['granted', 'granted already'] : ['taken back', 'not granted']
    printLine(
      `${isNew ? done : already}: ${toTerminalLine(capabilities.join(' '))} for ${paint('bold', toTerminalLine(name))}`,
    )
    printLine(
      `it may now: ${granted.length === 0 ? 'compute, and nothing else' : toTerminalLine(granted.join(' '))}`,
    )
    const unasked = granted.filter(word => !asked.includes(word))
    if (unasked.length > 0)
      printLine(
        `metadata.capabilities does not ask for ${toTerminalLine(unasked.join(' '))}: its commands go without, its other scripts have it`,
      )
    const unknown = asked.filter(word => !isCapability(word))
    if (unknown.length > 0)
      printLine(paint('yellow', `it asks for what there is not: ${toTerminalLine(unknown.join(' '))}`))
    if (missing.length > 0)
      printLine(paint('yellow', `it asks for more: ${toTerminalLine(missing.join(' '))}`))
    for (const word of granted) {
      const nothing = findNothing(word)
      if (nothing !== undefined) printLine(paint('yellow', toTerminalLine(`${word}: ${nothing}`)))
    }
    if (granted.includes('exec'))
      printLine(
        paint(
          'yellow',
          'exec voids the permissions of Node: only the sandbox, where there is one, contains it',
        ),
      )
  }
  return EXIT_OK
}

/** What a capability gives access to may not be there, and that is seldom meant. */
function findNothing(capability: string): string | undefined {
  const [, kind = '', target = ''] = /^(env|fs\.(?:read|write)):(.+)$/.exec(capability) ?? []
  if (kind === 'env') return process.env[target] === undefined ? 'it is not set here' : undefined
  return target === '' || existsSync(target) ? undefined : 'there is no such place here'
}
