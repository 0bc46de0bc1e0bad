import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import { findByNameOrFolder, toKnownName } from '../reader/find-by-name.ts'
import { useNewest } from '../reader/use-newest.ts'
import type { Generation } from '../registry/generation.ts'
import { describeUnread } from '../registry/skill-not-found.ts'
import type { Digest } from '../skill/digest.ts'
import { findNearNames } from '../skill/near-names.ts'
import type { Skill } from '../skill/skill.ts'
import { isAddressable, normalizeName } from '../skill/skill-name.ts'
import { parseSkillPath } from '../skill/skill-path.ts'
import type { Conversation } from './conversation.ts'
import { noteLostFile } from './lost-skill-file.ts'

/** One file of one revision of a skill. */
export interface ResourceContent {
  readonly skill: string
  readonly path: string
  readonly revision: Digest
  readonly digest: Digest
  readonly bytes: Uint8Array
  readonly generation: Generation
  /** A note for the model: the SKILL.md is missing for the moment. */
  readonly note?: string
  /** The revision that the conversation loaded; absent if equal to `revision`. */
  readonly loadedRevision?: Digest
}

export interface ResourceRequest {
  readonly skill: string
  readonly path: string
  /**
   * The revision to read: `sha256:` and 64 digits, or at least the first eight digits. If absent, the newest revision
   * is read.
   */
  readonly revision?: string | undefined
}

/**
 * Reads a file by its digest, so that the bytes always belong to the returned revision.
 * @throws {SkillError} INVALID_PATH; SKILL_NOT_FOUND, REVISION_NOT_FOUND or FILE_NOT_FOUND, each with the available
 * values; `signal.reason` when the signal aborts
 */
export async function readResource(
  request: ResourceRequest,
  conversation: Conversation,
  signal?: AbortSignal,
): Promise<ResourceContent> {
  const path = parseSkillPath(request.path.replace(/^\.\//, ''))
  const name = normalizeName(request.skill.replace(/^\s*\//, ''))
  const { reader } = conversation
  const generation = await (isAddressable(name) ? reader.refresh(name) : reader.fresh())
  return await useNewest(reader, { generation, name }, async newest =>
    readFrom(newest, { ...request, skill: name, path }, conversation, signal),
  )
}

async function readFrom(
  generation: Generation,
  { skill: name, path, revision: wanted }: ResourceRequest,
  conversation: Conversation,
  signal: AbortSignal | undefined,
): Promise<ResourceContent> {
  const { reader } = conversation
  const skill = isAddressable(name) ? findByNameOrFolder(generation, name, reader.isInScope) : undefined
  if (skill === undefined) {
    const names = generation
      .list()
      .flatMap(each => (conversation.reader.isInScope(each.name) ? each.name : []))
    throw new SkillError(
      'SKILL_NOT_FOUND',
      `there is no skill ${quote(name)}${describeUnread(generation.sources())}${suggest(name, names)}`,
    )
  }
  const loaded = (conversation.ledger.find(name) ?? conversation.ledger.find(skill.name))?.revision
  const knownName = toKnownName(generation, skill, name)
  const { revision, files } = await findRevision(skill, wanted, knownName, conversation)
  const file = files.find(each => each.path === path)
  if (file === undefined) {
    const paths = files.map(each => each.path)
    const shown = paths.slice(0, 20).join(', ')
    throw new SkillError(
      'FILE_NOT_FOUND',
      `${quote(skill.name)} has no file ${quote(path)}${suggest(path, paths) || `; it has: ${shown}`}`,
    )
  }
  const bytes = await conversation.reader.readFile({ name: skill.name, revision, files }, path)
  signal?.throwIfAborted()
  conversation.ledger.saw(knownName, revision)
  const note = wanted === undefined ? noteLostFile(skill) : undefined
  return {
    skill: skill.name,
    path,
    revision,
    digest: file.digest,
    bytes,
    generation,
    ...(note === undefined ? {} : { note }),
    ...(loaded === undefined || loaded === revision ? {} : { loadedRevision: loaded }),
  }
}

const MIN_DIGITS = 8

async function findRevision(
  skill: Skill,
  wanted: string | undefined,
  knownName: string,
  { ledger, reader }: Conversation,
): Promise<Pick<Skill, 'revision' | 'files'>> {
  if (wanted === undefined || wanted === '') return skill
  const digits = wanted.replace(/^sha256:/, '').toLowerCase()
  const matches = (revision: Digest): boolean =>
    digits.length >= MIN_DIGITS && revision.slice(7).startsWith(digits)
  if (matches(skill.revision)) return skill
  // A revision does not show which skill it belongs to. Accept only revisions of this skill that the conversation has
  // seen. Otherwise a model could read skills outside its scope. A person may have rejected the revision since then.
  const revision = ledger.seen(knownName).find(matches)
  const isClaimed = revision === undefined || !ledger.isProven(knownName, revision)
  const earlier = revision === undefined ? undefined : await reader.findEarlier(skill, revision, isClaimed)
  if (earlier !== undefined) return earlier
  throw new SkillError(
    'REVISION_NOT_FOUND',
    `revision ${quote(wanted)} of ${quote(skill.name)} is not available; the newest is ${skill.revision}`,
  )
}

function suggest(wanted: string, names: readonly string[]): string {
  const near = findNearNames(wanted, names)
  return near.length === 0 ? '' : `; did you mean ${near.map(name => quote(name)).join(' or ')}?`
}
