import type { SessionState } from '@skillstoke/core'

/** A stored conversation. Its messages are in the transcript of Claude Code. */
export interface ClaudeState {
  /** The id of Claude Code's session, which the next `query()` resumes. */
  readonly sessionId: string
  /** The catalog in the system prompt; absent while it is the catalog of the session. */
  readonly catalog?: string
  readonly session: SessionState
}

/** Stores conversations by their ids, as JSON values. */
export interface ClaudeStateStore {
  /** Returns the state that was saved last; `undefined` or `null` for an unknown id. */
  load(id: string): Promise<ClaudeState | undefined | null>
  /** Called before each prompt and after each model call that changed the state. Claude Code waits for the promise. */
  save(id: string, state: ClaudeState): Promise<void>
}

/** The part of the SDK's `SessionStore` that the adapter uses. */
interface SessionStore {
  append(key: SessionKey, entries: { type: string; [field: string]: unknown }[]): Promise<void>
  load(key: SessionKey): Promise<readonly Readonly<Record<string, unknown>>[] | null>
}

interface SessionKey {
  projectKey: string
  sessionId: string
}

const TYPE = 'skillstoke'

/**
 * Keeps the states of conversations in a session store of the SDK, next to the transcripts. The keys of the states have
 * the project key `skillstoke`.
 *
 * @example
 * ```ts no-run
 * import { InMemorySessionStore, query } from '@anthropic-ai/claude-agent-sdk'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { claudeAgent, toStateStore } from '@skillstoke/adapters/claude-agent-sdk'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const sessionStore = new InMemorySessionStore()
 * using live = await claudeAgent(skills, { id: 'chat-1', store: toStateStore(sessionStore) })
 * const messages = query({ prompt: 'Which skills do you have?', options: live.options({ sessionStore }) })
 * for await (const message of messages) if (message.type === 'result') console.log(message.subtype)
 * ```
 */
export function toStateStore(store: SessionStore): ClaudeStateStore {
  const keyOf = (id: string): SessionKey => ({ projectKey: TYPE, sessionId: id })
  return {
    async load(id) {
      const last = (await store.load(keyOf(id)))?.at(-1)
      return last?.['state'] as ClaudeState | undefined
    },
    async save(id, state) {
      await store.append(keyOf(id), [{ type: TYPE, state }])
    },
  }
}
