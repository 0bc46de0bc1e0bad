import { ALLOWED_TOOLS_POLICIES, type AllowedToolsPolicy } from '../activation/allowed-tools.ts'
import type { SkillScope } from '../catalog/scope.ts'
import { SkillError } from '../errors.ts'
import { checkOptions, type KnownOptions, oneOf } from '../options.ts'
import { quote, shorten } from '../quote.ts'
import { checkConversationIdentity } from '../registry/conversation-identity.ts'
import type { Skill } from '../skill/skill.ts'
import { checkSkillToolName } from '../tool/tool-names.ts'
import type { SessionState } from './session-state.ts'

/** The values of `DeliveryMode`. */
export const DELIVERY_MODES = ['append', 'rebuild', 'silent', 'pinned'] as const

/**
 * How changes reach a conversation.
 * - `append`: as messages at the end of the conversation. Bytes that were already sent stay unchanged.
 * - `rebuild`: in a new catalog, for a system prompt that the host renders before every model call.
 * - `silent`: changes are not reported. Tools still answer from the newest generation.
 * - `pinned`: changes do not reach the conversation. Catalog and tools keep the conversation's first generation.
 */
export type DeliveryMode = (typeof DELIVERY_MODES)[number]

/** The values of `ApplyAt`. */
export const APPLY_AT = ['step', 'turn'] as const

/** When a conversation receives changes: before each model call, or only before the first model call of a turn. */
export type ApplyAt = (typeof APPLY_AT)[number]

export interface SessionOptions {
  /**
   * Names the conversation in events and reports. The id has 1 to 256 characters, none of them a control character.
   * Two open sessions cannot have the same id. The id grants nothing: the identity that decides which unapproved texts
   * a conversation sees is random.
   */
  readonly id: string
  /** The skills that this conversation may see. @default all */
  readonly scope?: SkillScope
  /** How changes reach the conversation. @default 'append' */
  readonly delivery?: DeliveryMode
  /**
   * Whether changes are offered before every model call, or only before the first model call after `beginTurn`.
   * @default 'step'
   */
  readonly applyAt?: ApplyAt
  /** How the field `allowed-tools` of loaded skills affects tool calls. @default 'advise' */
  readonly allowedTools?: AllowedToolsPolicy
  /** Name of the tool that loads skills. @default 'skill' */
  readonly skillToolName?: string
  /**
   * Whether each command of a loaded skill also becomes a tool with a schema of its own, from the next turn on. The
   * tools never change within a turn, and the answer that loads the skill announces them. A turn with other tools than
   * the turn before it loses the prompt cache. @default false
   */
  readonly commandTools?: boolean
  /** Renders the answer of the skill tool to an unknown name. @default similar names, or the results of a search */
  readonly describeUnknownSkill?: (name: string, skills: readonly Skill[]) => string
  /**
   * The state that `state()` returned when the conversation was stored. The conversation continues with its old
   * catalog, and its first offer reports the changes since then. If `scope` excludes a skill of the old catalog, the
   * catalog is rendered anew. An open session with the same id is closed.
   */
  readonly resume?: SessionState
  /**
   * The property `conversation` of an earlier session. The new session belongs to the same conversation, so the texts
   * that the earlier session wrote are live in it, too. Keep the value from other clients. A stored state does not
   * contain it, and a child ignores it. @default random, or derived from `resume`
   */
  readonly conversation?: string
}

/** The options that a child inherits from its parent. */
export type InheritedOptions = Omit<SessionOptions, 'id' | 'scope' | 'resume' | 'conversation'>

const KNOWN_OPTIONS: KnownOptions<SessionOptions> = {
  id: true,
  scope: true,
  delivery: oneOf(DELIVERY_MODES),
  applyAt: oneOf(APPLY_AT),
  allowedTools: oneOf(ALLOWED_TOOLS_POLICIES),
  skillToolName: true,
  commandTools: true,
  describeUnknownSkill: true,
  resume: true,
  conversation: true,
}

const MAX_ID_CHARACTERS = 256
const SHOWN_CHARACTERS = 40

/** @throws {SkillError} INVALID_OPTION also for unknown names, because a misspelt restriction would restrict nothing */
export function checkSessionOptions(options: SessionOptions, owner = 'session()'): void {
  checkOptions(owner, options, KNOWN_OPTIONS)
  checkSessionId(options.id)
  checkConversationIdentity('conversation', options.conversation)
  checkSkillToolName(options.skillToolName)
}

function checkSessionId(id: unknown): void {
  const fault = findIdFault(id)
  if (fault === undefined) return
  throw new SkillError(
    'INVALID_OPTION',
    `the session id ${fault}; use 1 to ${MAX_ID_CHARACTERS} characters without control characters`,
  )
}

function findIdFault(id: unknown): string | undefined {
  if (typeof id !== 'string') return `is ${id === null ? 'null' : `a value of type ${typeof id}`}`
  const shown = quote(shorten(id, SHOWN_CHARACTERS))
  if (id.trim() === '') return `is ${shown}`
  if (id.length > MAX_ID_CHARACTERS) return `${shown} has ${id.length} characters`
  if (/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(id)) return `${shown} has a control character`
  return undefined
}
