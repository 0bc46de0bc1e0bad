import { defined, isTestFile, toMessage } from '@skillstoke/core/internal'
import { readEvalJson } from './read-eval-json.ts'
import { readTestsYaml } from './read-tests-yaml.ts'
import { type ReadTests, type SkillTests, TESTS_FILE, type TriggerTest, toFault } from './skill-tests.ts'

/** A text file of a skill. */
export interface TestText {
  /** Path relative to the folder of the skill. */
  readonly path: string
  readonly text: string
}

const MAX_BYTES = 1_000_000

/**
 * Whether a file may contain tests: `evals/tests.yaml`, and every JSON file below `evals/`, because other tools have no
 * common name for theirs.
 */
export function mayHaveTests(file: { readonly path: string; readonly size: number }): boolean {
  if (file.path === TESTS_FILE) return true
  return file.size <= MAX_BYTES && isTestFile(file) && file.path.endsWith('.json')
}

/**
 * Reads the tests of a skill from the files that may have tests. A message that several files have counts once.
 *
 * @example
 * ```ts
 * import { readSkillTests } from '@skillstoke/author'
 *
 * const text = 'fires:\n  - Fill in this form\nsilent:\n  - Why does my viewer flicker?\n'
 * const { triggers } = readSkillTests('support-pdf', [{ path: 'evals/tests.yaml', text }])
 * console.log(triggers.map(test => `${test.kind} ${test.line}`)) // prints [ 'fires 2', 'silent 4' ]
 * ```
 */
export function readSkillTests(skill: string, files: readonly TestText[]): SkillTests {
  const sorted = [...files].sort((a, b) => Number(b.path === TESTS_FILE) - Number(a.path === TESTS_FILE))
  const read = sorted.map(file => {
    if (file.path !== TESTS_FILE) return readJson(file, skill)
    return file.text.length > MAX_BYTES ? refuse(file) : readTestsYaml(file.text)
  })
  const triggers = new Map<string, TriggerTest>()
  for (const test of read.flatMap(each => each.triggers)) {
    const key = `${test.kind} ${test.message}`
    const known = triggers.get(key)
    // Results of real runs have the same messages as the tests.
    const { triggerRate = known?.triggerRate } = test
    triggers.set(key, { ...(known ?? test), ...defined({ triggerRate }) })
  }
  return {
    skill,
    triggers: [...triggers.values()],
    answers: read.flatMap(each => each.answers),
    faults: read.flatMap(each => each.faults),
  }
}

function refuse({ path, text }: TestText): ReadTests {
  const message = `the file has ${text.length.toLocaleString('en')} characters; at most ${MAX_BYTES.toLocaleString('en')} are read`
  return { triggers: [], answers: [], faults: [toFault(path, { message, line: 1, fix: 'remove messages' })] }
}

function readJson({ path, text }: TestText, skill: string): ReadTests {
  try {
    const triggers = readEvalJson(JSON.parse(text), skill).map(each => ({ ...each, path }))
    return { triggers, answers: [], faults: [] }
  } catch (thrown) {
    // Deeper folders may have inputs of tests that are broken on purpose.
    const isInput = path.split('/').length > 2
    const fault = toFault(path, {
      message: `the file is not valid JSON: ${toMessage(thrown)}`,
      fix: 'correct the JSON',
    })
    return { triggers: [], answers: [], faults: isInput ? [] : [fault] }
  }
}
