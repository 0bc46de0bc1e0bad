import { type Digest, SkillError } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'

// Names of streams and subjects. One NATS account holds one fleet.

/** Stream of the heads: the newest manifest of each skill in each channel. Also a key-value bucket named `SK`. */
export const HEADS = 'KV_SK'
/** Stream of all versions of all skills. */
export const RECORDS = 'SKV'
/** Stream of the contents of files. */
export const BLOBS = 'SKB'
/** Stream of the reports of agents. Also a key-value bucket named `AG`. */
export const AGENTS = 'KV_AG'

const HEAD_PREFIX = '$KV.SK.'
const LIVE_PREFIX = 'sk.live.SK.'
const LISTS = `${HEAD_PREFIX}_list.`
const PUBLICATIONS = `${HEAD_PREFIX}_publication.`
const ANNOUNCEMENTS = `${HEAD_PREFIX}_announcement.`

/** Subject of the epoch of the fleet. */
export const EPOCH_SUBJECT: string = `${HEAD_PREFIX}_meta`
/** Subject of the beat, which the server stores every second. */
export const BEAT_SUBJECT: string = `${HEAD_PREFIX}_beat`
/** Subject of the message from which the server makes the beat. */
export const BEAT_SCHEDULE_SUBJECT: string = `${HEAD_PREFIX}_schedule`
/** Pattern of all subjects of the heads. */
export const ALL_HEADS: string = `${HEAD_PREFIX}>`
/** Pattern of the subjects on which the server republishes the heads. */
export const ALL_LIVE: string = `${LIVE_PREFIX}>`
export const ALL_RECORDS = 'skv.>'
export const ALL_BLOBS = 'skb.*'
export const ALL_AGENTS = '$KV.AG.>'

/** The channel that is used if none is named. */
export const DEFAULT_CHANNEL = 'stable'

/** The place of one head. */
export interface HeadPlace {
  readonly channel: string
  readonly skill: string
}

/** What the subject of a statement names. */
export type StatementPlace =
  | { readonly kind: 'list'; readonly channel: string }
  | { readonly kind: 'publication'; readonly publishId: string }

export function toHeadSubject({ channel, skill }: HeadPlace): string {
  return `${HEAD_PREFIX}${channel}.${escapeToken(skill)}`
}

/**
 * Returns the place of a head. Returns `undefined` for subjects that are not heads. Each place has exactly one subject:
 * other spellings of its subject are no heads, so that no second head can be stored for it.
 */
export function parseHeadSubject(subject: string): HeadPlace | undefined {
  if (!subject.startsWith(HEAD_PREFIX)) return undefined
  const [channel, token] = subject.slice(HEAD_PREFIX.length).split('.')
  if (channel === undefined || token === undefined || channel.startsWith('_')) return undefined
  const place = { channel, skill: unescapeToken(token) ?? '' }
  return toHeadSubject(place) === subject ? place : undefined
}

/** Returns the subject of the list of a channel, or of the end of a publication. */
export function toStatementSubject(place: StatementPlace): string {
  return place.kind === 'list' ? `${LISTS}${place.channel}` : `${PUBLICATIONS}${place.publishId}`
}

export function isStatementSubject(subject: string): boolean {
  return subject.startsWith(LISTS) || subject.startsWith(PUBLICATIONS)
}

/** Returns the subject that names the files of the next publication in a channel. */
export function toAnnouncementSubject(channel: string): string {
  return `${ANNOUNCEMENTS}${channel}`
}

export function isAnnouncementSubject(subject: string): boolean {
  return subject.startsWith(ANNOUNCEMENTS)
}

/** Converts the subject of a republished message to the subject in the stream. */
export function fromLiveSubject(subject: string): string {
  return `${HEAD_PREFIX}${subject.slice(LIVE_PREFIX.length)}`
}

export function toRecordSubject(channel: string, skill: string, version: number | '*'): string {
  return `skv.${channel}.${escapeToken(skill)}.${version}`
}

/** Returns the place of a version record. Returns `undefined` for other subjects, as `parseHeadSubject()` does. */
export function parseRecordSubject(
  subject: string,
): { readonly channel: string; readonly skill: string; readonly version: number } | undefined {
  const [, channel, token, digits] = /^skv\.([^.]+)\.([^.]+)\.(\d+)$/.exec(subject) ?? []
  if (channel === undefined || token === undefined) return undefined
  const [skill, version] = [unescapeToken(token) ?? '', Number(digits)]
  return toRecordSubject(channel, skill, version) === subject ? { channel, skill, version } : undefined
}

/** Returns the subject of a piece of a file, which names its digest in hexadecimal digits. */
export function toBlobSubject(digest: Digest): string {
  return `skb.${digest.slice('sha256:'.length)}`
}

export function toAgentSubject(host: string, agent: string): string {
  return `$KV.AG.${escapeToken(host)}.${escapeToken(agent)}`
}

export function isChannel(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(text)
}

/** @throws {SkillError} INVALID_OPTION */
export function checkChannel(channel: string): void {
  if (isChannel(channel)) return
  throw new SkillError(
    'INVALID_OPTION',
    `the channel ${quote(channel)} is not valid; use at most 63 lower-case letters, digits and hyphens, for example "stable"`,
  )
}

/** Writes each byte that is not allowed in a key as `=XX`. */
function escapeToken(text: string): string {
  let token = ''
  for (const byte of new TextEncoder().encode(text)) {
    const char = String.fromCharCode(byte)
    token += /[A-Za-z0-9_-]/.test(char) ? char : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return token
}

function unescapeToken(token: string): string | undefined {
  try {
    return decodeURIComponent(token.replaceAll('%', '%25').replaceAll('=', '%'))
  } catch {
    return undefined
  }
}
