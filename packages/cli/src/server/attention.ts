import { existsSync } from 'node:fs'
import { findCollisions } from '@skillstoke/author'
import { listCompeting, readTestsOf } from '@skillstoke/author/internal'
import type { SkillReader } from '@skillstoke/core'
import type { AttentionInfo } from '../client/api-types.ts'
import type { Config } from '../config/config.ts'
import { openMeasured, placeOfMeasured } from '../trial/open-trial.ts'

/** A comparison blocks the process, and takes longer with more skills. */
const MAX_SKILLS = 1_000

/**
 * Finds what an author should look at besides findings: skills that compete for the same messages, and tests that a model
 * failed.
 * @param reader the skills that new conversations see
 */
export async function findAttention(
  reader: SkillReader,
  config: Pick<Config, 'stateDirectory'>,
): Promise<AttentionInfo> {
  const competing = listCompeting(reader)
  const compared = competing.length > MAX_SKILLS ? [] : competing
  const tests = await Promise.all(compared.map(skill => readTestsOf(skill, reader)))
  const collisions = findCollisions(compared, { tests }).filter(
    ({ kind, settledBy }) => kind !== 'similar' && settledBy === undefined,
  )
  if (!existsSync(placeOfMeasured(config))) return { collisions, failing: [] }
  using store = await openMeasured(config)
  const failing = competing.flatMap(({ name, revision }) => {
    const score = store.listScores(name).find(each => each.revision === revision)
    return score !== undefined && score.passed < score.total ? score : []
  })
  return { collisions, failing }
}
