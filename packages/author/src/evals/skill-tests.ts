import type { Diagnostic } from '@skillstoke/core'

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

/** What an answer must have. */
export type Expectation =
  /** The answer contains the text; upper and lower case count as equal. */
  | { readonly kind: 'contains'; readonly text: string }
  /** The answer matches the regular expression. */
  | { readonly kind: 'matches'; readonly pattern: RegExp }
  /** The answer is JSON that contains the value: objects may have further fields. */
  | { readonly kind: 'json'; readonly value: unknown }
  /** The model loads the skill of this name. */
  | { readonly kind: 'loads'; readonly skill: string }
  /** The model calls the command. */
  | { readonly kind: 'calls'; readonly command: string }
  /** A model that sees only the answer and this text accepts the answer. */
  | { readonly kind: 'judge'; readonly text: string }

export const EXPECTATION_KINDS: readonly Expectation['kind'][] = [
  'contains',
  'matches',
  'json',
  'loads',
  'calls',
  'judge',
]

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

/** The tests in the folder `evals/` of one skill. */
export interface SkillTests {
  readonly skill: string
  /** Each message once for each kind. */
  readonly triggers: readonly TriggerTest[]
  readonly answers: readonly AnswerTest[]
  readonly faults: readonly TestFault[]
}

/** The name of the file that this package writes, relative to the folder of the skill. */
export const TESTS_FILE = 'evals/tests.yaml'
