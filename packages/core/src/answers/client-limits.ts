import { locationOf } from '../catalog/catalog-format.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import type { Skill } from '../skill/skill.ts'

/** A limit of a client for its own list of skills. It applies if the client reads the folders itself. */
export interface ClientLimit {
  readonly client: string
  /** What the limit applies to, for people. */
  readonly what: string
  readonly unit: 'tokens' | 'characters'
  /** Whether the limit applies to each entry. If not, it applies to the whole list. */
  readonly isPerEntry: boolean
  readonly limit: number
  /** Returns the entry of a skill; empty if the client does not list the skill. */
  readonly entryOf: (skill: Skill) => string
}

/** Claude Code shows `when_to_use` after the description. */
function describeForClaude(skill: Skill): string {
  const when = skill.extra['when_to_use']
  if (!isModelInvocable(skill)) return ''
  return `- ${skill.name}: ${skill.description}${typeof when === 'string' ? ` - ${when}` : ''}`
}

const CLAUDE_CODE = { client: 'Claude Code', entryOf: describeForClaude }
/** Codex does not read `disable-model-invocation`, so it also lists hidden skills. */
const CODEX = {
  client: 'Codex',
  entryOf: (skill: Skill): string => `- ${skill.name}: ${skill.description} (file: ${locationOf(skill)})`,
}
const LIST = { unit: 'tokens', isPerEntry: false } as const

/** The known limits, for a context of 200,000 tokens. Claude Code was read on 2026-08-22, Codex on 2026-11-25. */
export const CLIENT_LIMITS: readonly ClientLimit[] = [
  { ...CLAUDE_CODE, ...LIST, what: '1 % of the context', limit: 2_000 },
  { ...CLAUDE_CODE, what: 'longest entry', unit: 'characters', isPerEntry: true, limit: 1_536 },
  { ...CODEX, ...LIST, what: '2 % of the context', limit: 4_000 },
  { ...CODEX, ...LIST, what: 'if the context is unknown', unit: 'characters', limit: 8_000 },
]
