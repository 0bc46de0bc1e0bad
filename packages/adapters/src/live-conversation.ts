/// <reference lib="esnext.disposable" preserve="true" />

import type {
  RebaseOptions,
  RestoredSkill,
  SessionOptions,
  SessionState,
  SkillRuntime,
  SkillScope,
  SkillSession,
} from '@skillstoke/core'
import { checkOptions, defined, type KnownOptions } from '@skillstoke/core/internal'

/** The options that all adapters accept. */
export interface LiveOptions extends SessionOptions {
  /** Text of the system prompt before the catalog of skills. @default '' */
  readonly instructions?: string
}

/** The id and the scope of a subagent's conversation. */
export interface LiveChildOptions {
  readonly id: string
  /** The child sees the skills that this scope and the scope of its parent include. @default the parent's scope */
  readonly scope?: SkillScope
  /** @default the instructions of the parent */
  readonly instructions?: string
  /** @default the value of the parent */
  readonly commandTools?: boolean
}

const KNOWN_CHILD_OPTIONS: KnownOptions<LiveChildOptions> = {
  id: true,
  scope: true,
  instructions: true,
  commandTools: true,
}

const KNOWN_OPTIONS: KnownOptions<LiveOptions> = {
  ...KNOWN_CHILD_OPTIONS,
  delivery: true,
  applyAt: true,
  allowedTools: true,
  skillToolName: true,
  describeUnknownSkill: true,
  resume: true,
  conversation: true,
}

/** What the conversations of all adapters have. */
export class LiveChat implements Disposable {
  readonly session: SkillSession

  constructor(session: SkillSession) {
    this.session = session
  }

  /** Ends the conversation in this process. A method `state()` still works. Idempotent. */
  close(): void {
    this.session.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/**
 * The session of one conversation in a foreign agent loop: its system text, its notices and its turns. A turn that the
 * host does not keep leaves no trace, so its notices are sent again in the next turn.
 */
export class LiveConversation {
  readonly session: SkillSession
  readonly #instructions: string
  /** The state before the open turn. */
  #before: SessionState | undefined

  constructor(session: SkillSession, instructions = '') {
    this.session = session
    this.#instructions = instructions
  }

  /** @throws {SkillError} INVALID_OPTION, DUPLICATE_SESSION, CLOSED */
  static open(skills: SkillRuntime, given: LiveOptions): LiveConversation {
    checkOptions('the adapter', given, KNOWN_OPTIONS)
    const { instructions, ...options } = given
    return new LiveConversation(skills.session(options), instructions)
  }

  /** Opens the conversation of a subagent. */
  child(given: LiveChildOptions): LiveConversation {
    checkOptions('child()', given, KNOWN_CHILD_OPTIONS)
    const { instructions = this.#instructions, ...options } = given
    return new LiveConversation(this.session.child(options), instructions)
  }

  /** The system text: the instructions, then the catalog. */
  get system(): string {
    return joinTexts(this.#instructions, this.session.catalog)
  }

  /**
   * Starts a turn or, after an approval, continues the turn that was kept. If the previous call was not kept, forgets what
   * it reported and loaded.
   */
  beginTurn(isNew = true): void {
    this.dropTurn()
    this.#before = this.session.state()
    if (isNew) this.session.beginTurn()
  }

  /** Records that the messages of the open turn are in the stored history. If they end early, `state` belongs to them. */
  keepTurn(state?: SessionState): void {
    if (state !== undefined) this.session.revert(state)
    this.#before = undefined
  }

  /** Forgets what the open turn reported and loaded. */
  dropTurn(): void {
    if (this.#before !== undefined) this.session.revert(this.#before)
    this.#before = undefined
  }

  /** Makes the present state the state before the open turn, because the host has replaced its whole history. */
  restartTurn(): void {
    if (this.#before !== undefined) this.#before = this.session.state()
  }

  /** Returns the state that belongs to the stored history, which does not contain the open turn. */
  state(): SessionState {
    return this.#before ?? this.session.state()
  }

  /** Returns the notice to append before the next model call. The open turn counts the notice as sent. */
  async takeNotice(): Promise<string | undefined> {
    return (await this.session.update())?.text
  }

  /**
   * Starts the conversation over after a compaction. Returns the text of the loaded skills at their newest revisions,
   * which the host appends to the compacted messages; `undefined` if no skill was loaded.
   */
  async rebase(options?: RebaseOptions): Promise<string | undefined> {
    const { restore } = await this.session.rebase(options)
    return renderRestored(restore)
  }
}

/** Returns a scope with the skills that both scopes include. */
export function intersectScopes(
  outer: SkillScope | undefined,
  inner: SkillScope | undefined,
): SkillScope | undefined {
  if (outer === undefined || inner === undefined) return outer ?? inner
  return { ...inner, ...defined({ outer: intersectScopes(outer, inner.outer) }) }
}

/** Returns the texts with an empty line between them. */
export function joinTexts(...texts: readonly (string | undefined)[]): string {
  return texts.filter(text => text !== undefined && text !== '').join('\n\n')
}

/** Leaves the notices out of the messages that a compaction keeps, because the new catalog replaces them. */
export function withoutNotices<Message>(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap(message => {
    const { role, content } = message as { readonly role?: unknown; readonly content?: unknown }
    if (role !== 'user') return [message]
    if (!Array.isArray(content)) return isNotice(content) ? [] : [message]
    const rest = (content as readonly { readonly text?: unknown }[]).filter(({ text }) => !isNotice(text))
    if (rest.length === content.length) return [message]
    return rest.length === 0 ? [] : [{ ...message, content: rest }]
  })
}

/** A whole notice, and nothing else. */
const NOTICE = /^<skills_update generation="[0-9a-f]+">\n(?:(?!<\/?skills_update).)*<\/skills_update>$/s

function isNotice(text: unknown): boolean {
  return typeof text === 'string' && NOTICE.test(text)
}

/** Renders the loaded skills that come back after a compaction; `undefined` if there are none. */
export function renderRestored(restored: readonly Pick<RestoredSkill, 'text'>[]): string | undefined {
  if (restored.length === 0) return undefined
  const texts = restored.map(({ text }) => text)
  return ['The skills that you loaded earlier, at their newest revisions:', ...texts].join('\n\n')
}
