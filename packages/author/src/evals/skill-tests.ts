import type { Diagnostic } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'

/** Whether a message should make the model load the skill. */
export const TRIGGER_KINDS = ['fires', 'silent'] as const
export type TriggerKind = (typeof TRIGGER_KINDS)[number]

/** Where a test is written. `line` is absent for JSON files. */
export interface TestPlace {
  readonly path: string
  readonly line?: number
}

/** A message, and whether the skill should be loaded for it. */
export interface TriggerTest extends TestPlace {
  readonly kind: TriggerKind
  readonly message: string
  /** True for the prompt of a test of answers. Its author did not say that the prompt alone must load the skill. */
  readonly isPrompt: boolean
  /** Share of the real runs that loaded the skill, if the file is a result of such runs. */
  readonly triggerRate?: number
  /** Fields of the file that are not read. An export writes them again. */
  readonly extra: Readonly<Record<string, unknown>>
}

/**
 * What an answer must have. `contains`: the text, in upper or lower case. `matches`: a regular expression with the flag
 * `u`. `json`: JSON that has the value; objects may have further fields. `loads`: the model loads the skill of this name.
 * `calls`: the model calls the command. `judge`: a model that sees only the answer and this text accepts the answer.
 */
export const EXPECTATION_KINDS = ['contains', 'matches', 'json', 'loads', 'calls', 'judge'] as const

/** One thing that an answer must have. */
export type Expectation =
  | { readonly kind: Exclude<(typeof EXPECTATION_KINDS)[number], 'json'>; readonly text: string }
  | { readonly kind: 'json'; readonly value: unknown }

/** A message whose answer is checked. */
export interface AnswerTest extends TestPlace {
  readonly message: string
  readonly expect: readonly Expectation[]
}

/** A mistake in a file of tests. Only the test that it is about is left out. */
export interface TestFault extends Omit<Diagnostic, 'code'> {
  readonly code: 'TESTS_INVALID'
  readonly path: string
  readonly fix: string
}

/** What files of tests contain. */
export interface ReadTests {
  /** Each message once for each kind. */
  readonly triggers: readonly TriggerTest[]
  readonly answers: readonly AnswerTest[]
  readonly faults: readonly TestFault[]
}

/** The tests in the folder `evals/` of one skill. */
export interface SkillTests extends ReadTests {
  readonly skill: string
}

/** The name of the file that this package writes, relative to the folder of the skill. */
export const TESTS_FILE = 'evals/tests.yaml'

/** Creates a fault from a finding, which may lack a fix. */
export function toFault(
  path: string,
  { message, line, fix = 'correct the text' }: Pick<Diagnostic, 'message' | 'line' | 'fix'>,
): TestFault {
  return { code: 'TESTS_INVALID', severity: 'warning', message, path, ...defined({ line }), fix }
}
