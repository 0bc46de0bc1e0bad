import { estimateTriggers, findCollisions, readSkillTests, type TriggerSkill } from '@skillstoke/author'
import { type Figure, type MeasureOptions, percentiles, round } from '../figure.ts'

const SKILLS = 10_000
const VOCABULARY = 20_000
/** The larger, the rarer are the most frequent words. With 30, a fifth of the skills has the word of rank 1. */
const RANK_OFFSET = 30
const WORDS = 35
const SOURCES = 40
const MESSAGES = 20
const RUNS = 5

/** Measures the comparison of descriptions in a catalog of 10,000 skills. */
export async function* b21(_options: MeasureOptions): AsyncGenerator<Figure> {
  const common = { id: 'B21', n: SKILLS, unit: 'ms', peers: {} } as const
  const skills = makeSkills()
  const start = performance.now()
  const pairs = findCollisions(skills)
  const first = round(performance.now() - start)
  if (pairs.length === 0) throw new Error('the generated skills have no collisions')
  yield {
    ...common,
    what: 'collisions of all skills, first time',
    target: '5000',
    value: { p50: first, p99: first },
  }
  yield {
    ...common,
    what: `collisions of all skills again (${pairs.length} pairs)`,
    target: '5000',
    value: time(() => findCollisions(skills)),
  }
  yield {
    ...common,
    what: 'collisions of one saved skill',
    target: '500',
    value: time(run => findCollisions(skills, { of: [`skill-${run}`] })),
  }
  yield {
    ...common,
    what: `estimate of ${MESSAGES} messages for one skill`,
    target: '1000',
    value: time(run => estimateTriggers([...skills], testsOf(skills[run] as TriggerSkill))),
  }
}

function time(work: (run: number) => unknown): Figure['value'] {
  const samples = Array.from({ length: RUNS }, (_, run) => {
    const start = performance.now()
    work(run)
    return performance.now() - start
  })
  return percentiles(samples)
}

/** Makes skills whose words are as unevenly distributed as in ordinary text. Every tenth skill resembles its predecessor. */
function makeSkills(): readonly TriggerSkill[] {
  // Park and Miller's generator gives the same skills in each run.
  let seed = 7
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  // The law of Zipf and Mandelbrot: the word of rank r has a share of about 1 / (r + offset).
  const word = (): string => {
    const rank = RANK_OFFSET * (1 + VOCABULARY / RANK_OFFSET) ** random() - RANK_OFFSET
    return `w${Math.floor(rank).toString(36)}x`
  }
  const skills: TriggerSkill[] = []
  for (let index = 0; index < SKILLS; index++) {
    const words = Array.from({ length: WORDS }, word)
    const before =
      index % 10 === 9 ? skills[index - 1]?.description.split(' ').slice(0, WORDS - 10) : undefined
    const description = [...(before ?? []), ...words].slice(0, WORDS).join(' ')
    skills.push({ name: `skill-${index}`, description, source: `source-${index % SOURCES}` })
  }
  return skills
}

function testsOf({ name, description }: TriggerSkill): ReturnType<typeof readSkillTests> {
  const words = description.split(' ')
  const messages = Array.from({ length: MESSAGES }, (_, index) => words.slice(index, index + 8).join(' '))
  return readSkillTests(name, [
    { path: 'evals/tests.yaml', text: `fires:\n${messages.map(each => `  - ${each}\n`).join('')}` },
  ])
}
