import { type Collision, findCollisions } from '@skillstoke/author'
import { listCompeting, readTestsOf } from '@skillstoke/author/internal'
import { defined } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { findServed } from '../skills/tested-skill.ts'
import type { Answer } from '../terminal/answer.ts'
import { describeCollision } from '../terminal/describe-collision.ts'
import { paint } from '../terminal/output.ts'

const MAX_PAIRS = 50

/** Implements `stoke collisions`: finds pairs of skills that compete for messages. */
export async function collisions(config: Config, _flags: object, names: readonly string[]): Promise<Answer> {
  await using skills = await openSkills(config, { watching: 'off' })
  const competing = listCompeting(skills.forConversation(defined({ scope: config.scope })))
  const of = names.map(name => findServed(name, skills).name)
  const tests = await Promise.all(competing.map(async skill => await readTestsOf(skill, skills)))
  const pairs = findCollisions(competing, { tests, ...(of.length > 0 ? { of } : {}) })
  return {
    json: { skills: competing.length, pairs },
    text: function* () {
      for (const pair of pairs.slice(0, MAX_PAIRS)) yield* [...describeCollision(pair), '']
      if (pairs.length > MAX_PAIRS) yield `and ${pairs.length - MAX_PAIRS} more pairs; --json has all\n`
      yield paint('dim', summarize(pairs, competing.length))
    },
  }
}

function summarize(pairs: readonly Collision[], skills: number): string {
  const open = pairs.filter(({ settledBy }) => settledBy === undefined)
  const similar = open.filter(({ kind }) => kind === 'similar').length
  const counts = `${open.length - similar} fight, ${similar} to look at, ${pairs.length - open.length} settled`
  return `${skills} ${skills === 1 ? 'skill' : 'skills'}, pairs: ${counts} (words only, no model was asked)`
}
