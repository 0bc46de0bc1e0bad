import { randomUUID } from 'node:crypto'
import { hostname, userInfo } from 'node:os'
import { type Digest, SkillError } from '@skillstoke/core'
import {
  decodeText,
  findLeftOutIn,
  findPathFault,
  findRepository,
  quote,
  revisionOf,
  showValue,
  sortFiles,
} from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import { DEFAULT_LIMITS, type SkillFile } from '@skillstoke/core/source'
import type { HeadPlace } from './fleet-subjects.ts'
import type { ManifestSignature, ManifestSigner, TrustedKeys } from './signing.ts'

/** Largest piece of a file in one message of the server. */
export const CHUNK_BYTES: number = 64 * 1024

/** One file of a published skill. */
export interface ManifestFile extends SkillFile {
  /** Digests of the pieces of 64 KiB, in order. Absent if the file is one piece. */
  readonly chunks?: readonly Digest[]
}

/** Fields of everything that a publication stores in a channel. */
export interface PublicationFields {
  /** Id of the fleet that the document belongs to. */
  readonly fleet: string
  /** Epoch of the fleet in which the document was written. */
  readonly epoch: number
  readonly channel: string
  /**
   * Identifies one publication. All heads of a publication have the same id, and a publisher recognises its own commit by
   * it after a lost answer.
   */
  readonly publishId: string
  /** Name of the person or program that published. */
  readonly publisher: string
  /** Time of the publisher in ISO 8601. */
  readonly at: string
}

/** Fields that every version of a skill has. */
interface VersionFields extends PublicationFields {
  readonly skill: string
  /** Rises with each version of a skill in a channel. Some numbers may be missing. */
  readonly version: number
  /** Why the version was published, for example a commit message. */
  readonly note?: string
  /** Absent if the publication has one head. Agents apply all heads of a publication together. */
  readonly publication?: {
    /** Position in the publication. Without `isSplit`, the sequences of the heads follow each other. */
    readonly index: number
    /** How many heads the publication has. */
    readonly count: number
    /** Whether the publication needed several commits. It then counts only after its `PublicationEnd`. */
    readonly isSplit?: true
  }
}

/** One published version of a skill. */
export interface SkillVersion extends VersionFields {
  readonly kind: 'skill'
  /** The revision of the skill: equal files have equal revisions on every machine. */
  readonly revision: Digest
  /** Fields of the frontmatter, as JSON values. */
  readonly frontmatter: Readonly<Record<string, unknown>>
  readonly skillFile: string
  /** All files, sorted bytewise by path. */
  readonly files: readonly ManifestFile[]
  /** The earlier version whose files this version has again. */
  readonly rollbackOf?: number
  /** The channel and version from which this version was promoted. */
  readonly promotedFrom?: { readonly channel: string; readonly version: number }
}

/** The removal of a skill from a channel. */
export interface SkillRemoval extends VersionFields {
  readonly kind: 'removal'
  /** Whether a mirror removed the skill because its folder was gone. The skill comes back with its folder. */
  readonly isMirrored?: true
}

/** The epoch of a fleet. Agents take a complete snapshot when the epoch rises. */
export interface FleetEpoch {
  readonly kind: 'epoch'
  /** Identifies the fleet. Another fleet at the same address has another id. */
  readonly id: string
  /** Rises each time the streams are created or restored. */
  readonly epoch: number
  readonly at: string
}

/** Says that all heads of a publication are committed, or never will be. */
export interface PublicationEnd extends PublicationFields {
  readonly kind: 'publication'
  /** How many heads the publication has. */
  readonly count: number
  /** Set if another publication has replaced a head before the last commit. The publication then never counts. */
  readonly isGivenUp?: true
}

/**
 * Says which skills a channel has at the start of an epoch. Agents that know an earlier epoch change over only then, and
 * lose only skills that the list does not name.
 */
export interface ChannelList extends PublicationFields {
  readonly kind: 'list'
  /** Versions by name. */
  readonly skills: Readonly<Record<string, number>>
}

/** Names the files that the next publication in a channel needs, so that agents retrieve them before its commit. */
export interface Announcement extends PublicationFields {
  readonly kind: 'announcement'
  readonly files: readonly ManifestFile[]
}

/** A version of a skill, or its removal. */
export type VersionRecord = SkillVersion | SkillRemoval
export type FleetDocument = VersionRecord | FleetEpoch | PublicationEnd | ChannelList | Announcement

type Kind = FleetDocument['kind']

/** What a field must be, and what it is otherwise. */
interface FieldCheck {
  readonly is: (value: unknown) => boolean
  readonly fault: string
}

const TEXT: FieldCheck = { is: value => typeof value === 'string', fault: 'no text' }
const WHOLE: FieldCheck = { is: Number.isSafeInteger, fault: 'no whole number' }
const VERSION: FieldCheck = { is: value => WHOLE.is(value) && (value as number) >= 1, fault: WHOLE.fault }
const OBJECT: FieldCheck = { is: isRecord, fault: 'no object' }
const PART: FieldCheck = { is: isPublicationPart, fault: 'not valid' }
const PUBLICATION = { fleet: TEXT, epoch: WHOLE, channel: TEXT, publishId: TEXT, publisher: TEXT, at: TEXT }
const HEAD = { ...PUBLICATION, skill: TEXT, version: VERSION, publication: PART }
/** The fields of each kind of document that a reader relies on. */
const FIELDS: Readonly<Record<Kind, Readonly<Record<string, FieldCheck>>>> = {
  epoch: { id: TEXT, epoch: WHOLE },
  skill: { ...HEAD, frontmatter: OBJECT, skillFile: TEXT },
  removal: HEAD,
  publication: PUBLICATION,
  list: { ...PUBLICATION, skills: OBJECT },
  announcement: PUBLICATION,
}

const encoder = new TextEncoder()

/** Describes a publication that begins now. */
export function describePublication(
  { id, epoch }: FleetEpoch,
  channel: string,
  publisher: string = `${userInfo().username}@${hostname()}`,
): PublicationFields {
  return { fleet: id, epoch, channel, publishId: randomUUID(), publisher, at: new Date().toISOString() }
}

/**
 * Writes a document: one line of JSON, then one line for each signature. The signature covers the bytes of the first
 * line.
 */
export async function writeDocument(
  document: FleetDocument,
  signer: ManifestSigner | undefined,
): Promise<Uint8Array> {
  const line = JSON.stringify(document)
  if (signer === undefined) return encoder.encode(`${line}\n`)
  const value = Buffer.from(await signer.sign(encoder.encode(line))).toString('base64url')
  return encoder.encode(`${line}\n${signer.publicKey} ${value}\n`)
}

/**
 * Reads a document and checks its signature.
 * @throws {SkillError} UNTRUSTED if no trusted key has signed the document; SKILL_INVALID if the document is not valid
 */
export function readDocument(data: Uint8Array, trusted: TrustedKeys): FleetDocument {
  const text = decodeText(data)
  if (text === undefined) throw invalid('it is not UTF-8')
  const [line = '', ...rest] = text.split('\n')
  if (trusted.isRequired && !trusted.hasSigned(encoder.encode(line), rest.flatMap(parseSignature)))
    throw new SkillError(
      'UNTRUSTED',
      rest.some(each => each !== '') ? 'it is not signed by a trusted key' : 'it is not signed',
    )
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    throw invalid('it is not JSON', cause)
  }
  if (!isRecord(value)) throw invalid('it is no object')
  const { kind } = value
  const fields = typeof kind === 'string' && Object.hasOwn(FIELDS, kind) ? FIELDS[kind as Kind] : undefined
  if (fields === undefined) throw invalid(`its kind is ${showValue(kind)}; a newer release may be needed`)
  for (const [name, { is, fault }] of Object.entries(fields))
    if (!is(value[name])) throw invalid(`its ${name} is ${fault}`)
  const document = value as unknown as FleetDocument
  if (document.kind === 'skill') return toSkillVersion(document)
  return document.kind === 'announcement' ? { ...document, files: toFiles(document.files) } : document
}

/**
 * Reads the document of a head or of a version record, and checks that it belongs to its place.
 * @param fleet the fleet that it must belong to, if this is known
 * @throws {SkillError} UNTRUSTED, SKILL_INVALID
 */
export function readVersionAt(
  data: Uint8Array,
  trusted: TrustedKeys,
  place: HeadPlace | undefined,
  fleet?: string,
): VersionRecord {
  if (place === undefined) throw invalid('its subject is no place of a skill')
  const document = readDocument(data, trusted)
  if (document.kind !== 'skill' && document.kind !== 'removal')
    throw invalid(`it is a document of the kind ${document.kind}`)
  const { channel, skill } = document
  if (channel !== place.channel || skill !== place.skill) throw invalid(`it belongs to ${channel}/${skill}`)
  if (fleet !== undefined && document.fleet !== fleet) throw invalid('it belongs to another fleet')
  return document
}

/** Reads a document. Returns `undefined` if there is none, or it is not valid or not trusted. */
export function tryReadDocument(
  data: Uint8Array | undefined,
  trusted: TrustedKeys,
): FleetDocument | undefined {
  if (data === undefined) return undefined
  try {
    return readDocument(data, trusted)
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return undefined
    throw thrown
  }
}

/** Returns the public keys that a document names as its signers. The signatures are not checked. */
export function listSigners(data: Uint8Array | undefined): readonly string[] {
  if (data === undefined) return []
  const [, ...rest] = (decodeText(data) ?? '').split('\n')
  return rest.flatMap(parseSignature).map(({ key }) => key)
}

/** Whether a document names a key as its signer. Always true if no signature is required. The signature is not checked. */
export function isSignedBy(data: Uint8Array, signer: ManifestSigner | undefined): boolean {
  return signer === undefined || listSigners(data).includes(signer.publicKey)
}

function parseSignature(line: string): readonly ManifestSignature[] {
  const [, key, value] = /^(ed25519:\S+) (\S+)$/.exec(line) ?? []
  return key === undefined || value === undefined ? [] : [{ key, value: Buffer.from(value, 'base64url') }]
}

function isPublicationPart(value: unknown): boolean {
  if (value === undefined) return true
  if (!isRecord(value)) return false
  const { index, count } = value as Partial<NonNullable<VersionFields['publication']>>
  const isIndex = Number.isSafeInteger(index) && (index as number) >= 0
  return isIndex && Number.isSafeInteger(count) && (index as number) < (count as number)
}

/** Checks everything that a reader relies on, because a manifest comes from another machine. */
function toSkillVersion(version: SkillVersion): SkillVersion {
  const { skillFile, files, revision } = version
  const checked = toFiles(files)
  const fault = findFilesFault(checked)
  if (fault !== undefined) throw invalid(fault)
  const sorted = sortFiles(checked)
  if (!sorted.some(({ path }) => path === skillFile)) throw invalid(`it has no file ${quote(skillFile)}`)
  if (revisionOf(sorted, nodeHasher) !== revision) throw invalid('its revision does not match its files')
  return { ...version, files: sorted }
}

/**
 * Returns why no agent may accept a list of files. The limits are the same on all machines, so that a version that one
 * agent accepts is accepted by all.
 */
export function findFilesFault(files: readonly SkillFile[]): string | undefined {
  const { maxFiles, maxFolderBytes } = DEFAULT_LIMITS
  if (files.length > maxFiles) return `it has ${files.length} files; at most ${maxFiles} are read`
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  if (bytes > maxFolderBytes) return `it has ${bytes} bytes; at most ${maxFolderBytes} are read`
  const head = findRepository(files.map(({ path }) => path))
  if (head !== undefined) return `its path ${quote(head)} is part of a git repository`
  const folded = new Map<string, string>()
  for (const { path } of files) {
    const fault =
      findPathFault(path) ??
      (path === path.normalize('NFC') ? undefined : 'is not in NFC') ??
      describeLeftOut(path)
    if (fault !== undefined) return `its path ${quote(path)} ${fault}`
    const other = folded.get(path.toLowerCase())
    if (other !== undefined) return `its paths ${quote(other)} and ${quote(path)} differ only in case`
    folded.set(path.toLowerCase(), path)
  }
  return undefined
}

/** Says why a path is no part of a skill. Agents would leave such a file out, and so have another revision. */
function describeLeftOut(path: string): string | undefined {
  const kind = findLeftOutIn(path)?.kind
  if (kind === undefined) return undefined
  return kind === 'secret' ? 'usually holds a secret' : 'never belongs to a skill'
}

function toFiles(value: unknown): readonly ManifestFile[] {
  if (!Array.isArray(value)) throw invalid('it has no list of files')
  return value.map(toFile)
}

function toFile(value: unknown): ManifestFile {
  if (!isRecord(value)) throw invalid('one of its files is no object')
  const { path, digest, size, isExecutable = false, chunks } = value
  if (typeof path !== 'string') throw invalid('one of its files has no path')
  if (!isDigest(digest)) throw invalid(`its file ${quote(path)} has no digest`)
  if (!Number.isSafeInteger(size) || (size as number) < 0)
    throw invalid(`its file ${quote(path)} has no size`)
  const file = { path, digest, size: size as number, isExecutable: isExecutable === true }
  const pieces = Math.max(1, Math.ceil(file.size / CHUNK_BYTES))
  if (chunks === undefined) {
    if (pieces > 1) throw invalid(`its file ${quote(path)} has no chunks`)
    return file
  }
  if (!Array.isArray(chunks) || !chunks.every(isDigest) || chunks.length !== pieces)
    throw invalid(`the chunks of its file ${quote(path)} are not valid`)
  return { ...file, chunks }
}

function isDigest(value: unknown): value is Digest {
  return typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(reason: string, cause?: unknown): SkillError {
  return new SkillError('SKILL_INVALID', reason, cause === undefined ? {} : { cause })
}
