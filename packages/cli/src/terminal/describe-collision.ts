import type { CollidingSkill, Collision } from '@skillstoke/author'
import { paint, shorten, toTerminalLine } from './output.ts'

const MAX_MESSAGES = 3
const SENTENCE_WIDTH = 120

const TITLES = {
  equal: 'these are equal',
  fight: 'these fight',
  similar: 'look at these',
} as const satisfies Record<Collision['kind'], string>

/** Describes a pair of skills: what they share, what only one has, and what an author can do. */
export function* describeCollision(collision: Collision): Generator<string> {
  const { kind, skills, shared, lostMessages, settledBy, suggestion } = collision
  const title =
    settledBy === undefined
      ? paint(kind === 'similar' ? 'yellow' : 'red', TITLES[kind])
      : paint('green', 'settled')
  yield `${title}  ${skills.map(describeSide).join(' and ')}`
  if (settledBy !== undefined) {
    yield `  ${toTerminalLine(settledBy.skill)} says: ${shorten(settledBy.sentence, SENTENCE_WIDTH)}`
    return
  }
  yield `  shared: ${joinWords(shared)}`
  for (const { name, only } of skills)
    if (only.length > 0) yield `  only ${toTerminalLine(name)}: ${joinWords(only)}`
  for (const { message, meantFor, first } of lostMessages.slice(0, MAX_MESSAGES))
    yield `  "${shorten(message, 60)}" is for ${toTerminalLine(meantFor)}, but ${toTerminalLine(first)} is first`
  if (lostMessages.length > MAX_MESSAGES) yield `  and ${lostMessages.length - MAX_MESSAGES} more`
  if (suggestion !== undefined) yield paint('dim', `  ${toTerminalLine(suggestion)}`)
}

/** Describes a pair in one line. */
export function summarizeCollision({ kind, skills, shared }: Collision): string {
  const [a, b] = skills
  const verb = { equal: 'equals', fight: 'fights with', similar: 'is similar to' }[kind]
  return `${paint('yellow', 'COLLISION')} ${toTerminalLine(a.name)} ${verb} ${toTerminalLine(b.name)}: ${joinWords(shared)}`
}

function describeSide({ name, source }: CollidingSkill): string {
  return `${paint('bold', toTerminalLine(name))}${source === undefined ? '' : ` (${toTerminalLine(source)})`}`
}

function joinWords(words: readonly string[]): string {
  return toTerminalLine(words.join(', '))
}
