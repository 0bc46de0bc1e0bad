import type { CollidingSkill, Collision } from '@skillstoke/author'
import { joinWords, paint, quoteMessage, shorten, toTerminalLine } from './output.ts'

const MAX_MESSAGES = 3
const SENTENCE_WIDTH = 120

/** What a kind of pair is called, and what the first skill does to the second one. */
const KINDS = {
  equal: { title: 'these are equal', verb: 'equals' },
  fight: { title: 'these fight', verb: 'fights with' },
  similar: { title: 'look at these', verb: 'is similar to' },
} as const satisfies Record<Collision['kind'], object>

/** Describes a pair of skills: what they share, what only one has, and what an author can do. */
export function* describeCollision(collision: Collision): Generator<string> {
  const { kind, skills, shared, lostMessages, settledBy, suggestion } = collision
  const color = settledBy ? 'green' : kind === 'similar' ? 'yellow' : 'red'
  const title = paint(color, settledBy ? 'settled' : KINDS[kind].title)
  yield `${title}  ${skills.map(describeSide).join(' and ')}`
  if (settledBy !== undefined) {
    yield `  ${toTerminalLine(settledBy.skill)} says: ${shorten(settledBy.sentence, SENTENCE_WIDTH)}`
    return
  }
  yield `  shared: ${joinWords(shared)}`
  for (const { name, only } of skills)
    if (only.length > 0) yield `  only ${toTerminalLine(name)}: ${joinWords(only)}`
  for (const { message, meantFor, first } of lostMessages.slice(0, MAX_MESSAGES))
    yield `  ${quoteMessage(message)} is for ${toTerminalLine(meantFor)}, but ${toTerminalLine(first)} is first`
  if (lostMessages.length > MAX_MESSAGES) yield `  and ${lostMessages.length - MAX_MESSAGES} more`
  if (suggestion !== undefined) yield paint('dim', `  ${toTerminalLine(suggestion)}`)
}

/** Describes a pair in one line. */
export function summarizeCollision({ kind, skills, shared }: Collision): string {
  const [a, b] = skills
  return `${paint('yellow', 'COLLISION')} ${toTerminalLine(a.name)} ${KINDS[kind].verb} ${toTerminalLine(b.name)}: ${joinWords(shared)}`
}

function describeSide({ name, source }: CollidingSkill): string {
  return `${paint('bold', toTerminalLine(name))}${source === undefined ? '' : ` (${toTerminalLine(source)})`}`
}
