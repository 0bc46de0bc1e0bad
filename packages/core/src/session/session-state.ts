import type { ContentKeys } from '../activation/content-keys.ts'
import type { LedgerEntry } from '../activation/ledger.ts'
import type { SkillCatalog } from '../catalog/render-catalog.ts'
import { SkillError } from '../errors.ts'
import type { Hasher } from '../host.ts'
import { isRecord } from '../options.ts'
import { quote, showValue } from '../quote.ts'
import { hasIdentityForm } from '../registry/conversation-identity.ts'
import { type Digest, digestOf, isDigest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'

/** Skill names, sorted, each with the key of the skill's description. `descriptionKey` returns that key. */
export type Announced = readonly (readonly [name: string, description: string])[]

/**
 * The catalog in the system prompt of a conversation. Conversations with equal catalog digests can share one stored
 * catalog.
 */
export interface FrozenCatalog extends SkillCatalog {
  /** Digest of `text`. */
  readonly digest: Digest
}

/**
 * The record of one conversation as a JSON value: its reported skills and its loaded skills. Store the state with the
 * messages. To continue the conversation in any process, pass the state to `SkillRuntime.session` as `resume`.
 */
export interface SessionState {
  readonly version: 3
  /**
   * Random value from which the identity of the conversation is derived. Keep it from other clients: the unapproved
   * texts of the conversation are live for a session that resumes it under the same id. Absent in older states.
   */
  readonly conversation?: string
  /** Digest of the last generation that was reported. */
  readonly generation: Digest
  /** The catalog in the system prompt. It is the largest part of the state: by default up to 4,000 tokens. */
  readonly catalog: FrozenCatalog
  /**
   * The reported skills, sorted by name. Each entry is the name and the first digits of the digest of the description.
   */
  readonly announced: Announced
  readonly ledger: readonly LedgerEntry[]
  /** For each skill name, the revisions of which the conversation received a file. The newest revision is last. */
  readonly seen: Readonly<Record<string, readonly Digest[]>>
  /** The names of the skills that were loaded since the turn began; absent if there are none. */
  readonly active?: readonly string[]
  /** Proves that the state is unchanged. Present if the runtime has a `state.sealKey`. */
  readonly seal?: string
}

const DIGITS = 16
const keys = new WeakMap<Skill, string>()

/**
 * Returns the key that stands for a skill's description in a stored state. The key is cached, because skills are
 * immutable.
 */
export function descriptionKey(skill: Skill, hasher: Hasher): string {
  let key = keys.get(skill)
  if (key === undefined) {
    key = hasher.sha256(skill.description).slice(0, DIGITS)
    keys.set(skill, key)
  }
  return key
}

const frozen = new WeakMap<SkillCatalog, FrozenCatalog>()

/** Returns a frozen copy of a catalog with its digest. The copy is cached, because catalogs are immutable. */
export function freezeCatalog(catalog: SkillCatalog, hasher: Hasher): FrozenCatalog {
  let kept = frozen.get(catalog)
  if (kept === undefined) {
    const { text, tokens, listed, omitted } = catalog
    kept = Object.freeze({
      ...{ digest: digestOf(text, hasher), text, tokens },
      listed: Object.freeze([...listed]),
      omitted: Object.freeze([...omitted]),
    })
    frozen.set(catalog, kept)
  }
  return kept
}

/**
 * Returns a checked copy of a state.
 * @throws {SkillError} INVALID_OPTION when the value is not a state, is damaged, or has another version; the message
 * names the field
 */
export function checkSessionState(state: SessionState, hasher: Hasher): SessionState {
  if (!isRecord(state)) refuse('it', state, 'an object')
  const { version, conversation, generation, announced, ledger, seen, catalog, active = [] } = state
  if (version !== 3) refuse('version', version, '3')
  if (conversation !== undefined) check('conversation', conversation, hasIdentityForm, '32 digits')
  check('generation', generation, isDigestText, DIGEST)
  checkList('announced', announced, 'a list of names with digits', (field, pair) =>
    check(field, pair, isPairOfTexts, 'a name and the digits of its description'),
  )
  checkList('ledger', ledger, 'a list of loaded skills', checkEntry)
  if (!isRecord(seen)) refuse('seen', seen, 'an object with a list of revisions for each name')
  for (const [name, revisions] of Object.entries(seen))
    checkList(`seen[${quote(name)}]`, revisions, 'a list of revisions', (field, revision) =>
      check(field, revision, isDigestText, DIGEST),
    )
  checkCatalog(catalog, hasher)
  checkNames('active', active)
  check('seal', state.seal, value => value === undefined || isText(value), 'a text, or nothing')
  return copyState(state)
}

/** Copies the checked fields, so that later changes of the given object do not affect the session. */
function copyState(state: SessionState): SessionState {
  const { version, conversation, generation, catalog, announced, ledger, seen, active, seal } = state
  return {
    version,
    ...(conversation === undefined ? {} : { conversation }),
    ...(active === undefined ? {} : { active: [...active] }),
    ...(seal === undefined ? {} : { seal }),
    generation,
    catalog: { ...catalog, listed: [...catalog.listed], omitted: [...catalog.omitted] },
    announced: announced.map(([name, description]) => [name, description]),
    ledger: ledger.map(({ name, revision, toldRevision, content, toldContent }) => ({
      ...{ name, revision, toldRevision },
      ...(content === undefined ? {} : { content: copyKeys(content) }),
      ...(toldContent === undefined ? {} : { toldContent: copyKeys(toldContent) }),
    })),
    seen: Object.fromEntries(Object.entries(seen).map(([name, revisions]) => [name, [...revisions]])),
  }
}

function copyKeys({ body, files }: ContentKeys): ContentKeys {
  return { body, files }
}

const DIGEST = '"sha256:" and 64 digits'

function checkEntry(field: string, entry: unknown): void {
  if (!isRecord(entry)) refuse(field, entry, 'an object')
  check(`${field}.name`, entry['name'], isText, 'a name')
  check(`${field}.revision`, entry['revision'], isDigestText, DIGEST)
  if (entry['toldRevision'] !== undefined)
    check(`${field}.toldRevision`, entry['toldRevision'], isDigestText, `${DIGEST}, or nothing`)
  for (const key of ['content', 'toldContent'])
    if (entry[key] !== undefined) check(`${field}.${key}`, entry[key], isContentKeys, 'two keys, or nothing')
}

export function isContentKeys(value: unknown): boolean {
  return isRecord(value) && isText(value['body']) && isText(value['files'])
}

function checkCatalog(catalog: unknown, hasher: Hasher): void {
  if (!isRecord(catalog)) refuse('catalog', catalog, 'an object')
  const { text, digest, tokens, listed, omitted } = catalog
  check('catalog.text', text, value => typeof value === 'string', 'a text')
  check('catalog.tokens', tokens, value => Number.isFinite(value) && Number(value) >= 0, 'a number from 0 on')
  checkNames('catalog.listed', listed)
  checkNames('catalog.omitted', omitted)
  const actual = digestOf(text as string, hasher)
  check('catalog.digest', digest, value => value === actual, `${actual}, the digest of its text`)
}

function checkNames(field: string, list: unknown): void {
  checkList(field, list, 'a list of names', (item, value) => check(item, value, isText, 'a name'))
}

function checkList(
  field: string,
  list: unknown,
  expected: string,
  checkItem: (field: string, item: unknown) => void,
): void {
  if (!Array.isArray(list)) refuse(field, list, expected)
  for (const [index, item] of list.entries()) checkItem(`${field}[${index}]`, item)
}

function check(field: string, value: unknown, isRight: (value: unknown) => boolean, expected: string): void {
  if (!isRight(value)) refuse(field, value, expected)
}

const SHOWN_CHARACTERS = 80

function refuse(field: string, value: unknown, expected: string): never {
  const shown = value === undefined ? 'missing' : showValue(value, SHOWN_CHARACTERS)
  throw new SkillError(
    'INVALID_OPTION',
    `the state of the session is damaged: ${field} is ${shown}; expected ${expected}. Pass what state() returned, or leave "resume" out`,
    { data: { field } },
  )
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

export function isDigestText(value: unknown): boolean {
  return typeof value === 'string' && isDigest(value)
}

function isPairOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(isText)
}
