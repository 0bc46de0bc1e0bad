import type { SkillScope } from '@skillstoke/core'
import type { World } from './world.ts'

/** One way to give an agent skills. Each harness is a row in the table of `docs/agent-sdks.md`. */
export interface Harness {
  /** The package, with the version that the tests install. */
  readonly name: string
  /** True for skills of other projects, whose results are recorded but not required. */
  readonly isPeer?: boolean
  /** True if the results depend on the timing of the other project's file watcher, so they may differ from the page. */
  readonly isTimed?: boolean
  /** Opens the conversation `chat-1`, or continues the conversation that an earlier process of this world stored. */
  readonly open: (world: World, options: HarnessOptions) => Promise<HarnessConversation>
  /** The reason why a scenario cannot pass with this SDK. The table shows the reason below it. */
  readonly limits?: Partial<Readonly<Record<ScenarioName, string>>>
}

export interface HarnessOptions {
  /** The skills that the conversation may see. @default all */
  readonly scope?: SkillScope
  /** Whether the commands of loaded skills become tools. Only scenarios with scripts set it. @default false */
  readonly commandTools?: boolean
}

/** A conversation with an agent whose model is the server of the world. The agent also has the host tool `edit`. */
export interface HarnessConversation extends AsyncDisposable {
  /** The name by which the model loads skills, and the name of the input field. @default skill, name */
  readonly loadTool?: { readonly name: string; readonly field: string }
  /**
   * Sends a message and waits for the answer. Rejects if a model call fails. The signal stops the turn, as a button of
   * the user does.
   */
  readonly say: (text: string, signal?: AbortSignal) => Promise<void>
  /** True if `say()` follows its signal. @default false */
  readonly canStop?: boolean
  /** True if two calls of `say()` may overlap. @default false */
  readonly canOverlap?: boolean
  /** Takes the last turns back, as a user does to regenerate an answer or to edit a question. Absent if impossible. */
  readonly takeBack?: (turns: number) => Promise<void>
  /** Opens a copy of the conversation, which goes its own way. Absent if the SDK has no such function. */
  readonly fork?: () => Promise<Pick<HarnessConversation, 'say'>>
  /** Compacts the conversation. Absent if neither the SDK nor the adapter can compact. */
  readonly compact?: () => Promise<void>
  /** Opens a subagent that may not see the skill `secret`. Absent if the SDK has no subagents. */
  readonly openSubagent?: () => Promise<Pick<HarnessConversation, 'say'>>
  /** True if the SDK reads the tools only when a conversation is opened. @default false */
  readonly hasFixedTools?: boolean
  /** True if the model can run commands of skills. @default false */
  readonly canRunScripts?: boolean
}

/** Why a conversation cannot have two turns at the same time. */
export const ONE_TURN = 'A conversation has one turn at a time.'

/** The columns of the table. */
export const SCENARIO_NAMES = [
  'added',
  'edited',
  'removed',
  'broken save',
  'script edited',
  'commands',
  'scope',
  'subagent',
  'failed call',
  'restart',
  'compaction',
  'stop',
  'error',
  'regenerate',
  'edit',
  'overlap',
  'fork',
] as const

export type ScenarioName = (typeof SCENARIO_NAMES)[number]
